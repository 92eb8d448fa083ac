-- adopt: a server restarted and forgot nothing: it keeps its id. Or: note that its writes are not safe any more, or that it
-- may have forgotten something. One that was a replica since it got its id votes no more, on older connections either.
--
-- KEYS  1 the register
-- ARGV  1 run id   2 the id that is there   3 'yes' if every write is on disk before it is answered, 'no' if not, else 'unknown'
--
-- Replies 1. Errors: NOTMEMBER, the server is not what was looked at any more, or may have forgotten something.
--
-- Invariants: only a server that was durable until it stopped, and is, and was nobody's replica, keeps its id. One that may
-- not keep it is not durable from then on: after its next restart nothing else says what it was.
if run ~= ARGV[1] or stored.id ~= ARGV[2] then
  return redis.error_reply('NOTMEMBER it restarted, or got an id meanwhile')
end
if stored.run == run and wasReplicaSince() then
  redis.call('HDEL', KEYS[1], 'votes') -- also when memory is full
  return redis.error_reply('NOTMEMBER it was a replica, and may lack data')
end
if stored.run ~= run then
  if replid2 ~= '' or ARGV[3] == 'no' then
    redis.call('HDEL', KEYS[1], 'durable') -- also when memory is full
  end
  if replid2 ~= '' or stored.durable ~= 'yes' or ARGV[3] ~= 'yes' then
    return redis.error_reply('NOTMEMBER it restarted, and may have lost data')
  end
end
redis.call('HSET', KEYS[1], 'run', run)
if ARGV[3] ~= 'yes' then
  redis.call('HSET', KEYS[1], 'durable', 'no')
end
return 1
