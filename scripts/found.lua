-- found: the second step of an init: the server accepts the first table.
--
-- KEYS  1 the register
-- ARGV  1 the deployment   2 the member's id   3 the ballot   4 the table
--       5 'finish': another server has accepted this table
--
-- Replies 1. Errors: CLAIMED, another init claimed the server after this init, or the server lost its data, or it promised
-- a higher ballot.
--
-- Invariants: the first server accepts the table only when all servers of the table carry the claim of this ballot. From then on
-- no server can accept another first table. So with 'finish' the other servers accept this table, whatever claims they carry.
if stored.version == ARGV[3] then
  return 1
end
if not stored.claim or not isIntact(ARGV[2]) or not stateOf(ARGV[4], ARGV[2]) then
  return redis.error_reply('CLAIMED it lost its data, or belongs to a deployment')
end
if ARGV[5] ~= 'finish' and (stored.deployment ~= ARGV[1] or stored.claimed ~= ARGV[3]) then
  return redis.error_reply('CLAIMED another init has it now')
end
if stored.promised and above(stored.promised, ARGV[3]) then
  return redis.error_reply('CLAIMED the members are being changed')
end
redis.call('HSET', KEYS[1], 'deployment', ARGV[1])
take(ARGV[3], ARGV[4])
return 1
