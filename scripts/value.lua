-- value: the parts of the value of a lock key; see lock.lua. It precedes the scripts that use it.

-- valueAt returns the value of a lock key; false if the lock is free or has readers. (GET would fail if it has readers.)
local function valueAt(lock)
  return redis.call('MGET', lock)[1]
end

-- read returns the parts of the value of an owned lock: owner, grant, token, and '+' or ''; nil for any other value.
local function read(value)
  return string.match(value or '', '^(%S+) (%d+) (%d*)(%+?)$')
end

-- channelOf returns the channel of the waiter for which a lock with this value is kept; nil if the value has another form.
local function channelOf(value)
  return string.match(value, '^ (.+)$')
end

-- rewrite replaces the value of an owned lock, and keeps its ttl.
local function rewrite(lock, owner, grant, token, waited)
  redis.call('SET', lock, string.format('%s %s %s%s', owner, grant, token, waited), 'KEEPTTL')
end

