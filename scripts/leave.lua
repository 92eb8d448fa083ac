-- leave: who waited does not any more, or was called and does not come.
--
-- KEYS  1 lock   2 line
-- ARGV  1 who waits
--
-- Replies 1.
--
-- Invariants: frees nothing that is owned.
redis.call('ZREM', KEYS[2], ARGV[1])
if redis.call('HGET', KEYS[1], 'next') == ARGV[1] then
  redis.call('DEL', KEYS[1])
  callUp(KEYS[1], KEYS[2])
end
return 1
