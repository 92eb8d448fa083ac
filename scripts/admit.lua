-- admit: raise all counters of a server, and let it vote.
--
-- KEYS  1 admitted   2… the counters of all buckets
-- ARGV  1 run id   2 since when it might not vote, both as surveyed   3 what to write into admitted
--       4… the least value of each counter
--
-- Replies 1. Errors: NOTADMITTED, it is not what was surveyed any more: restarted, or lost data (again).
--
-- Invariants: counters only rise. Any number of clients may do this at once, and one that was held up does no harm:
-- what it learned is worth something only for the very loss that it surveyed.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local admitted = redis.call('GET', KEYS[1]) or ''
local waiting, since = string.match(admitted, '^out (%x+) (%d+)$')
if run ~= ARGV[1] or (waiting or string.match(admitted, '^in (%x+) ')) ~= run then
  return redis.error_reply('NOTADMITTED the server restarted while it was being admitted')
end
since = tonumber(since or 0)
local higher = {}
for first = 2, #KEYS, 512 do -- unpack has a limit
  local counters = redis.call('MGET', unpack(KEYS, first, math.min(first + 511, #KEYS)))
  for i, counter in ipairs(counters) do
    if not valueOf(counter) and not lostSince(counter) then
      return redis.error_reply('NOTADMITTED the server lost data while it was being admitted')
    end
    local least, value = ARGV[first + i + 1], valueOf(counter)
    if not value then
      since = math.max(since, lostSince(counter))
    end
    if (value or 0) < tonumber(least) then
      higher[#higher + 1] = KEYS[first + i - 1]
      higher[#higher + 1] = least
    end
  end
end
if string.format('%.0f', since) ~= ARGV[2] then
  return redis.error_reply('NOTADMITTED the server lost data again, or is admitted already')
end
for first = 1, #higher, 1024 do
  redis.call('MSET', unpack(higher, first, math.min(first + 1023, #higher)))
end
redis.call('SET', KEYS[1], ARGV[3])
return 1
