-- adopt: let a durable server that restarted keep its id. A client sends this only if the server is durable by the newest table
-- that a quorum has. The server's own table is not enough: a later table may have ended the server's durability.
--
-- KEYS  1 the register
-- ARGV  1 the server's run id   2 the id in the register   3 the version in the register
--
-- Replies 1. Errors: NOTMEMBER, the server changed after the client read it, or may have lost data; UNFIT, it may not vote
-- now.
--
-- Invariants: a server keeps its id only if it is durable by its own table, too, and has been no replica since it restarted.
if run ~= ARGV[1] or stored.id ~= ARGV[2] or (stored.version or '') ~= ARGV[3] then
  return redis.error_reply('NOTMEMBER it restarted, or got an id or a table meanwhile')
elseif isIntact(ARGV[2]) then
  return 1
elseif replicaID ~= '' then
  -- After a restart, only the missing 'durable' shows that this server was a replica. (HDEL works even when memory is full.)
  redis.call('HDEL', KEYS[1], 'durable')
end
if stored.run == run or stored.durable ~= 'yes' or replicaID ~= '' or stateOfAOF() ~= 'loaded' then
  return redis.error_reply('NOTMEMBER it may have lost data')
end
local refused = refuses()
if refused then
  return refused
end
redis.call('HDEL', KEYS[1], 'weak') -- the previous process's note; if the server refuses this, nothing has changed yet
redis.call('HSET', KEYS[1], 'run', run, 'evicted', evictions)
return 1
