-- release: leave the lock one level, or altogether.
--
-- KEYS  1 lock   2 gone mark of this owner   3 line
-- ARGV  1 owner  2 depth left, absolute (0 frees)  3 ttl of the gone mark, ms (0: no mark)
--       4, 5 who, ticket: ''  , ''      the first in line is called
--                         who, ''      who's acquire follows on this connection: the lock is kept for it
--                         who, ticket  who gives back what it had in vain: it stands in line again, where it was
--
-- Replies 1, done; 0, nobody has the lock; -1, another has it, or it is kept for one.
--
-- Invariants: frees nobody else's lock. After a release with a mark, an acquire of this owner that is still
-- under way is refused. The mark is a key of its own, because a rival's lock may stand here now and be gone
-- when the late acquire comes.
if ARGV[3] ~= '0' then
  redis.call('SET', KEYS[2], '', 'PX', ARGV[3])
end
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then
  return -redis.call('EXISTS', KEYS[1])
end
if ARGV[2] ~= '0' then
  redis.call('HSET', KEYS[1], 'depth', ARGV[2])
  return 1
end
redis.call('DEL', KEYS[1])
if ARGV[5] ~= '' then
  redis.call('ZADD', KEYS[3], ARGV[5], ARGV[4])
  redis.call('PEXPIRE', KEYS[3], 5000)
end
if redis.call('EXISTS', KEYS[3]) == 1 then
  if ARGV[4] ~= '' and ARGV[5] == '' then
    redis.call('HSET', KEYS[1], 'next', ARGV[4])
    redis.call('PEXPIRE', KEYS[1], 200)
  else
    callUp(KEYS[1], KEYS[3])
  end
end
return 1
