-- repair: write a lock back to a master that lost it, or never had it.
--
-- KEYS  1 lock   2 fence   3 gone mark of this owner
-- ARGV  1 owner  2 depth  3 token  4 ttl, ms
--
-- Replies 1, the lock is the owner's here; 0, another's, or the owner gave up here.
-- Errors: NOTADMITTED, the bucket's counter is missing or corrupt.
--
-- Invariants: never takes a lock from anybody. The counter is at the token or above before the lock stands, so
-- whoever is granted here afterwards gets a higher number. Only a holder whose lease is valid may send it.
local owner = redis.call('HGET', KEYS[1], 'owner')
if owner or redis.call('EXISTS', KEYS[3]) == 1 then
  return owner == ARGV[1] and 1 or 0
end
local missing = raise(KEYS[2], ARGV[3])
if missing then
  return missing
end
redis.call('DEL', KEYS[1]) -- at most kept for one who waits, and owned by nobody
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'depth', ARGV[2], 'grant', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
