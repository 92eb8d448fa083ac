-- release: free the lock. It is the usual case of unlock; unlock.lua has its replies and invariants.
--
-- Keys       lock, queue
-- Arguments  owner
local function release(lock, queue, owner)
  local value = redis.pcall('GET', lock)
  if value and value.err then -- not a string: a sorted set of readers
    return more().rest().unlock(lock, nil, queue, owner, '0', '0', '', '')
  end
  if not isOwner(value, owner) then
    return value and -1 or 0
  end
  redis.call('DEL', lock)
  if string.byte(value, -1) == 43 then -- '+'
    more().callNext(lock, queue, true)
  end
  return 1
end
