-- reenter: check that the lock is still the owner's, and extend it to at least ttl from now.
--
-- Keys       lock
-- Arguments  owner, ttl (ms)
--
-- Replies the grant number; 0, the lock is not this owner's; 1, the owner is a reader here, because a downgrade came first.
--
-- Invariants: never creates a lock, and never shortens one.
local function reenter(lock, owner, ttl)
  if extend(lock, owner, ttl) < 0 then
    return 0
  end
  local _, grant = read(valueAt(lock))
  return tonumber(grant or 1)
end
