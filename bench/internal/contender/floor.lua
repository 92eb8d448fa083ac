-- floor: the least that a master of this library must do for an acquisition, and for a release, of a name that nobody
-- else wants. The two functions make the same calls as the library's scripts do for such a name. Here nobody waits,
-- gives up or enters again. A call has many operations, which are executed in order.
--
-- KEYS  an acquire has 4: lock, fence, gone mark, queue; a release 2: lock, queue
-- ARGV  an acquire has 3: 'a', owner, ttl; a release 2: 'r', owner
--
-- Replies an array with the reply of each operation.

-- acquire replies the grant number, or 0 if the lock is not free.
local function acquire(lock, fence, gone, queue, owner, ttl)
  if redis.call('EXISTS', lock, gone, queue) ~= 0 then
    return 0
  end
  local grant = redis.call('INCR', fence)
  redis.call('SET', lock, string.format('%s %d ', owner, grant), 'PX', ttl)
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

local replies, k, a = {}, 1, 1
while ARGV[a] do
  if ARGV[a] == 'a' then
    replies[#replies + 1] = acquire(KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], ARGV[a + 1], ARGV[a + 2])
    k, a = k + 4, a + 3
  else
    replies[#replies + 1] = release(KEYS[k], KEYS[k + 1], ARGV[a + 1])
    k, a = k + 2, a + 2
  end
end
return replies
