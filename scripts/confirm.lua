-- confirm: raise this master's counter to the token, if the very grant that voted for it still stands.
--
-- KEYS  1 lock   2 fence
-- ARGV  1 owner  2 grant number of the vote  3 token
--
-- Notes the token in the lock, for verify. Replies 1, the counter is at the token or above; 0, the grant no longer stands.
-- Errors: NOTADMITTED, the bucket's counter is missing or corrupt.
--
-- Invariants: the counter never falls. It asks for the grant and not only for the owner, because an
-- acquire that was resent may have been granted twice, with a rival's grant between.
local held = redis.call('HMGET', KEYS[1], 'owner', 'grant')
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] then
  return 0
end
local missing = raise(KEYS[2], ARGV[3])
if missing then
  return missing
end
redis.call('HSET', KEYS[1], 'token', ARGV[3])
return 1
