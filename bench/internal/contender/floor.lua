-- floor: what an acquisition and a release of a name that nobody else wants cannot do without on a master of this
-- library. The two functions make the same calls as the library's scripts do then. Nothing waits, gives up or enters
-- again here.

-- acquire replies the grant number, or 0 if the lock is not free.
local function acquire(lock, fence, gone, queue, owner, ttl)
  if redis.call('EXISTS', lock, gone, queue) ~= 0 then
    return 0
  end
  local grant = redis.call('INCR', fence)
  redis.call('SET', lock, string.format('%s 1 %d ', owner, grant), 'PX', ttl)
  return grant
end

-- release replies 1, or 0 if the lock is not the owner's.
local function release(lock, queue, owner)
  local value = redis.call('GET', lock)
  if not value or string.find(value, owner, 1, true) ~= 1 then
    return 0
  end
  redis.call('DEL', lock)
  return 1
end

