-- promise: the first half of a change of the table: the member promises that it accepts no lower ballot afterwards.
--
-- KEYS  1 the register
-- ARGV  1 the member's id   2 the ballot
--
-- Replies an array: the accepted version, its table, and '1' if the member has learned the version; '' for what does not exist.
-- Errors: NOTMEMBER, the data is another member's; UNFIT, it may not take part now; PROMISED and the promised ballot, which is
-- not lower.
--
-- Invariants: only a new id ends a promise.
if not isIntact(ARGV[1]) then
  return redis.error_reply('NOTMEMBER its data is not that of this member')
end
local refused = refuses(stored.durable, stored.weak)
if refused then
  return refused
end
if not above(ARGV[2], stored.promised) then
  return redis.error_reply('PROMISED ' .. stored.promised)
end
redis.call('HSET', KEYS[1], 'promised', ARGV[2])
return {stored.version or '', stored.table or '', stored.learned and '1' or ''}
