-- accept: the second half of a change: accept the table, unless the member promised a higher ballot.
--
-- KEYS  1 the register
-- ARGV  1 the member's id   2 the ballot   3 the table   4 the deployment
--
-- Replies 1. Errors: NOTMEMBER, the data is another member's or another deployment's, or the table does not concern the member;
-- UNFIT, the server may not take part now; PROMISED and the promised ballot, which is higher.
--
-- Invariants: the version never goes down. After the member accepted this version, it votes at no lower version.
if not isIntact(ARGV[1]) or stored.deployment ~= ARGV[4] or not concerns(ARGV[3], ARGV[1]) then
  return redis.error_reply('NOTMEMBER its data is not that of this member')
end
if stored.version == ARGV[2] then
  return 1
end
local refused = refuses(stored.durable, stored.weak)
if refused then
  return refused
end
if above(stored.promised or ARGV[2], ARGV[2]) then
  return redis.error_reply('PROMISED ' .. stored.promised)
end
take(ARGV[2], ARGV[3])
return 1
