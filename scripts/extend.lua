-- extend: give a lock that is still the owner's at least ttl from now.
--
-- KEYS  1 lock
-- ARGV  1 owner  2 ttl, ms
--
-- Replies the remaining ms before it was extended; -1, the lock is not this owner's.
--
-- Invariants: never creates a lock, never shortens one (an older extend may arrive after a newer one).
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then
  return -1
end
local remaining = redis.call('PTTL', KEYS[1])
if remaining < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return math.max(remaining, 0)
