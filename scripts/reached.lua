-- reached: note by which names clients reach members: a hint for clients that look for a member that has lost its data.
--
-- KEYS  1 the register
-- ARGV  1 the id of the member whose register this is   2… pairs: the id of a member of its table, a name
--
-- Replies 1. Errors: NOTMEMBER, the data is another member's, or the member has no table.
--
-- Invariants: no rule depends on these names. Only the four newest names of a member are kept, and only if the table lists the
-- member.
local most = 4
if not isIntact(ARGV[1]) or not stored.table then
  return redis.error_reply('NOTMEMBER its data is not that of this member')
end
for field in pairs(stored) do
  local id = string.match(field, '^names:(.*)$')
  if id and not stateOf(stored.table, id) then
    redis.call('HDEL', KEYS[1], field)
  end
end
for i = 2, #ARGV - 1, 2 do
  local id, name = ARGV[i], ARGV[i + 1]
  local field = 'names:' .. id
  local names, known = {name}, false
  for other in string.gmatch(stored[field] or '', '[^\n]+') do
    known = known or other == name
    if #names < most then
      names[#names + 1] = other
    end
  end
  if not known and stateOf(stored.table, id) then
    stored[field] = table.concat(names, '\n')
    redis.call('HSET', KEYS[1], field, stored[field])
  end
end
return 1
