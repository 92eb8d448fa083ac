-- extend: extend the owner's lock to at least ttl from now.
--
-- Keys       lock
-- Arguments  owner, ttl (ms)
--
-- Replies the remaining ms before the extension; -1, the lock is not this owner's.
--
-- Invariants: never creates a lock. Never shortens the ttl, because an older extend may arrive after a newer extend.
local function extend(lock, owner, ttl)
  local value = valueAt(lock)
  if not isOwner(value, owner) then
    return value and -1 or shared().stay(lock, owner, ttl) -- the owner may have become a reader
  end
  local remaining = redis.call('PTTL', lock)
  if remaining < tonumber(ttl) then
    redis.call('PEXPIRE', lock, ttl)
  end
  return math.max(remaining, 0)
end
