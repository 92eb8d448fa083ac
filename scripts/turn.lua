-- turn: let one client at a time change the members. This only saves work: ballots keep the register safe without turns, too.
--
-- KEYS  1 the register
-- ARGV  1 the member's id   2 the client   3 the length of the turn, ms   4 'force' takes the turn from another client, else ''
--
-- Replies 0, it is the client's turn; else the remaining ms of another client's turn. Errors: NOTMEMBER, the data is another
-- member's.
if not isIntact(ARGV[1]) then
  return redis.error_reply('NOTMEMBER its data is not that of this member')
end
local client, till = string.match(stored.turn or '', '^(%S+)/(%d+)$')
local left = client and client ~= ARGV[2] and tonumber(till) - now() or 0
if left > 0 and left <= tonumber(ARGV[3]) and ARGV[4] ~= 'force' then -- a longer turn is void: the clock was set back since
  return left
end
redis.call('HSET', KEYS[1], 'turn', string.format('%s/%.0f', ARGV[2], now() + tonumber(ARGV[3])))
return 0
