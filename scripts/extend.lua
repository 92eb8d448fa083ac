-- extend: give a lock that is still the owner's at least ttl from now.
--
-- Keys       lock
-- Arguments  owner, ttl (ms)
--
-- Replies the remaining ms before it was extended; -1, the lock is not this owner's.
--
-- Invariants: never creates a lock, never shortens one (an older extend may arrive after a newer one).
local function extend(lock, owner, ttl)
  if not isOwner(redis.call('GET', lock), owner) then
    return -1
  end
  local remaining = redis.call('PTTL', lock)
  if remaining < tonumber(ttl) then
    redis.call('PEXPIRE', lock, ttl)
  end
  return math.max(remaining, 0)
end
