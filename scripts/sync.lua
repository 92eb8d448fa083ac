-- sync: raise all counters of a server.
--
-- KEYS  1 the register   2… the counters of all buckets
-- ARGV  1 the member's id   2 the version at which the counters were read; '' for a server that is being founded
--       3 '1': the server is a member that must have accepted this version; else ''   4… the least value of each counter
--
-- Replies 1. Errors: NOTMEMBER, the data is another member's, or with '1' at another version; UNFIT, it may not take part now.
--
-- Invariants: usable counters only rise. Without '1', an unusable counter (missing, corrupt or at maxCounter) gets the least
-- value, and the server notes that it has the others' counters (synced). With '1', or if the member votes already (the request
-- was late), a missing or corrupt counter stays, because it shows that the member lost data. With '1' the server writes no note:
-- if it is new, it still lacks the others' counters.
local own = ARGV[3] == '1'
if not isIntact(ARGV[1]) or own and stored.version ~= ARGV[2] then
  return redis.error_reply('NOTMEMBER its data is not that of this member, or it is at another version')
end
local refused = refuses(stored.durable, stored.weak)
if refused then
  return refused
end
local gets = not own and not stored.votes -- whether an unusable counter gets the least value
local higher = {}
for first = 2, #KEYS, 512 do -- unpack has a limit
  local counters = redis.call('MGET', unpack(KEYS, first, math.min(first + 511, #KEYS)))
  for i, counter in ipairs(counters) do
    local least, value = ARGV[first + i + 1], valueOf(counter)
    local useless = not value or value == maxCounter
    if useless and gets or value and value < tonumber(least) then
      higher[#higher + 1] = KEYS[first + i - 1]
      higher[#higher + 1] = least
    end
  end
end
for first = 1, #higher, 1024 do
  redis.call('MSET', unpack(higher, first, math.min(first + 1023, #higher)))
end
if not own then
  redis.call('HSET', KEYS[1], 'synced', ARGV[2])
end
return 1
