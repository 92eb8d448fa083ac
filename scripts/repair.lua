-- repair: write a lock back to a master that lost it, or never had it.
--
-- Keys       lock, fence, gone (mark of this owner)
-- Arguments  owner, depth, token, ttl (ms)
--
-- Replies 1, the lock is the owner's here; 0, another's, or the owner gave up here.
-- Errors: NOTADMITTED, the bucket's counter is missing or corrupt.
--
-- Invariants: never takes a lock from anybody. The counter is at the token or above before the lock stands, so
-- whoever is granted here afterwards gets a higher number. Only a holder whose lease is valid may send it.
local function repair(lock, fence, gone, owner, depth, token, ttl)
  local holder = redis.call('HGET', lock, 'owner')
  if holder or redis.call('EXISTS', gone) == 1 then
    return holder == owner and 1 or 0
  end
  local missing = raise(fence, token)
  if missing then
    return missing
  end
  redis.call('DEL', lock) -- at most kept for one who waits, and owned by nobody
  redis.call('HSET', lock, 'owner', owner, 'depth', depth, 'grant', token)
  redis.call('PEXPIRE', lock, ttl)
  return 1
end
