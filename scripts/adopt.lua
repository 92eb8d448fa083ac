-- adopt: let a durable server that restarted keep its id. A client sends it only if a quorum of members, this one included,
-- has it as durable: this server's own table may be older than the change that ended its durability.
--
-- KEYS  1 the register
-- ARGV  1 run id   2 the id that is there   3 the version that is there
--
-- Replies 1. Errors: NOTMEMBER, the server changed since it was read, or may have forgotten something; UNFIT, it may not vote
-- now.
--
-- Invariants: only a server that is durable by its own table as well, and was no replica, keeps its id.
if run ~= ARGV[1] or stored.id ~= ARGV[2] or (stored.version or '') ~= ARGV[3] then
  return redis.error_reply('NOTMEMBER it restarted, or got an id or a table meanwhile')
elseif isIntact(ARGV[2]) then
  return 1
elseif replicaID ~= '' then
  -- Done even when memory is full, because after a restart nothing shows that this server was a replica.
  redis.call('HDEL', KEYS[1], 'durable')
end
if stored.run == run or stored.durable ~= 'yes' or replicaID ~= '' or stateOfAOF() ~= 'loaded' then
  return redis.error_reply('NOTMEMBER it may have lost data')
end
local refused = refuses()
if refused then
  return refused
end
redis.call('HDEL', KEYS[1], 'weak') -- of the previous process; if the server refuses this, nothing has changed yet
redis.call('HSET', KEYS[1], 'run', run, 'evicted', evictions)
return 1
