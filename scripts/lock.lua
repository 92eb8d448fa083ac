-- lock: the value of a lock key, and how it is read. It stands before all that use it.
--
-- A lock is a string, so that it is written, with its ttl, by one command:
--
--   '<owner> <depth> <grant> <token>'   owned. token is empty until a confirm wrote it: then it is the grant number.
--   the same with a '+' at its end      owned, and others may wait: a release has to look into the queue.
--   ' <channel>'                        kept for the waiter who is called on this channel; nobody owns it.
--
-- A value of any other form was written by something else, and is taken for another's until it expires.

-- isOwner reports whether the value is of a lock of this owner.
local function isOwner(value, owner)
  return value and string.find(value, owner, 1, true) == 1 and string.byte(value, #owner + 1) == 32 -- ' '
end

-- read returns the parts of the value of an owned lock: owner, depth, grant, token, and '+' or ''. It returns nil for any other.
local function read(value)
  return string.match(value or '', '^(%S+) (%d+) (%d+) (%d*)(%+?)$')
end

-- channelOf returns the channel of the waiter for whom the lock is kept, or nil.
local function channelOf(value)
  return string.match(value, '^ (.+)$')
end

-- rewrite replaces the value of an owned lock, and leaves its ttl.
local function rewrite(lock, owner, depth, grant, token, waited)
  redis.call('SET', lock, string.format('%s %s %s %s%s', owner, depth, grant, token, waited), 'KEEPTTL')
end

