-- counters: read all counters of a member, or a server being founded.
--
-- KEYS  1 the register   2… the counters of all buckets
-- ARGV  1 the member's id   2 the version; '' for a server being founded: then a missing counter is 0
--
-- Replies an array of the counters. Errors: NOTMEMBER, the data is another member's or at another version, or the member is new
-- or lost a counter.
--
-- Invariants: a member at this version grants nothing at earlier versions. So the counters include every grant at those.
local founding = ARGV[2] == ''
if not isIntact(ARGV[1]) or (stored.version or '') ~= ARGV[2] or not founding and stateOf(stored.table, ARGV[1]) == 'new' then
  return redis.error_reply('NOTMEMBER it is at another version, or lacks counters itself')
end
local reply = {}
for first = 2, #KEYS, 512 do -- unpack has a limit
  local counters = redis.call('MGET', unpack(KEYS, first, math.min(first + 511, #KEYS)))
  for i, counter in ipairs(counters) do
    if founding then
      counter = valueOf(counter) and tonumber(counter) < maxCounter and counter or '0'
    elseif not valueOf(counter) then
      return disown(KEYS[first + i - 1])
    end
    reply[#reply + 1] = counter
  end
end
return reply
