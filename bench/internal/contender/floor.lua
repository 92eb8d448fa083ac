-- floor: what an acquisition and a release of a name that nobody else wants cannot do without on a master of this
-- library. The two functions make the same calls as the library's scripts do then. Nothing waits in line, gives up or
-- enters again here.

-- acquire replies the grant number, or 0 if the lock is not free.
local function acquire(lock, fence, gone, line, owner, ttl)
  if redis.call('EXISTS', lock, gone, line) ~= 0 then
    return 0
  end
  local grant = redis.call('INCR', fence)
  redis.call('HSET', lock, 'owner', owner, 'depth', '1', 'grant', grant)
  redis.call('PEXPIRE', lock, ttl)
  return grant
end

-- release replies 1, or 0 if the lock is not the owner's.
local function release(lock, line, owner)
  if redis.call('HGET', lock, 'owner') ~= owner then
    return 0
  end
  redis.call('DEL', lock)
  redis.call('EXISTS', line) -- whom to call
  return 1
end

