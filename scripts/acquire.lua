-- acquire: enter the lock, fresh or again.
--
-- KEYS  1 lock   2 fence   3 gone mark of this owner   4 line
-- ARGV  1 owner  2 depth, absolute (1 is a fresh acquisition)  3 ttl, ms  4 who waits ('': does not wait, or not here)
--       5 ticket: the place in line, us since 1970 by the masters' time; '0' asks for this master's time
--       6 the longest ttl of the deployment, ms
--
-- Replies, one integer:
--   grant number   granted: the INCR of this grant, or the stored one if the lock is the owner's already
--   0              lost: a re-entry (depth > 1), and the lock is not this owner's
--   -1 - remaining held by another, or kept for one, for so many ms more
--   -time          the same, when the time was asked for: us, above 1e14
-- Errors: NOTADMITTED, the bucket's counter is missing or corrupt; GONE, this owner gave up here.
--
-- Invariants: a grant number is given once. Running it again changes nothing but the ttl, which never
-- shrinks. A re-entry never creates a lock. An owner that gave up is never granted. Who waits and is refused stands in
-- line from then on. Every lock that somebody is refused for ends by its ttl.
local clean = redis.call('EXISTS', KEYS[1], KEYS[3], KEYS[4]) == 0
local free = clean
if not clean then
  local held = redis.call('HMGET', KEYS[1], 'owner', 'grant', 'next')
  if held[1] == ARGV[1] then
    redis.call('HSET', KEYS[1], 'depth', ARGV[2])
    if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
      redis.call('PEXPIRE', KEYS[1], ARGV[3])
    end
    return tonumber(held[2])
  end
  if not held[1] then
    if redis.call('EXISTS', KEYS[3]) == 1 then
      return redis.error_reply('GONE this owner gave up here')
    end
    if held[3] then
      free = held[3] == ARGV[4]
    else
      -- Who was called is not in line any more, and may come when the 200 ms are over: its ticket tells.
      local first = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')
      local before = ARGV[4] ~= '' and ARGV[5] ~= '0' and first[2] and tonumber(ARGV[5]) <= tonumber(first[2])
      free = first[1] == ARGV[4] or before or not callUp(KEYS[1], KEYS[4])
    end
  end
end
if ARGV[2] ~= '1' then
  return 0
end

if free then
  local grant = redis.pcall('INCR', KEYS[2])
  if type(grant) == 'table' and not (string.find(grant.err, 'not an integer', 1, true)
    or string.find(grant.err, 'overflow', 1, true) or string.find(grant.err, 'WRONGTYPE', 1, true)) then
    return grant -- out of memory, say
  end
  if type(grant) == 'table' or grant <= 1 or grant > maxCounter then
    -- Counters start far above 1: this one was lost, or overwritten. It must not start to count again by itself, and
    -- what it forgot may be in force yet: note since when, in a form that INCR refuses.
    local stands = redis.pcall('GET', KEYS[2])
    local mark = type(stands) == 'string' and string.match(stands, '^(%a+) %d+$')
    if not mark then
      mark = grant == 1 and 'lost' or 'corrupt'
      local time = redis.call('TIME')
      redis.call('SET', KEYS[2], string.format('%s %.0f', mark, time[1] * 1000 + math.floor(time[2] / 1000)))
    end
    return redis.error_reply(string.format('NOTADMITTED the fencing counter %s is %s', KEYS[2],
      mark == 'lost' and 'missing' or string.format('corrupt: it was no number from 1 to %.0f', maxCounter)))
  end
  if not clean then
    redis.call('DEL', KEYS[1])
    redis.call('ZREM', KEYS[4], ARGV[4])
  end
  redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'depth', ARGV[2], 'grant', grant)
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return grant
end

if ARGV[4] ~= '' then
  local ticket = ARGV[5]
  if ticket == '0' then
    local time = redis.call('TIME')
    ticket = string.format('%.0f', time[1] * 1000000 + time[2])
  end
  redis.call('ZADD', KEYS[4], ARGV[5] == '0' and 'NX' or 'CH', ticket, ARGV[4])
  redis.call('PEXPIRE', KEYS[4], 5000)
  if ARGV[5] == '0' then
    return -tonumber(ticket)
  end
end
local remaining = redis.call('PTTL', KEYS[1])
if remaining < 0 then
  -- It lost its ttl (PERSIST, a restored dump). Its owner may be valid for the longest lease yet, and renew before that.
  remaining = tonumber(ARGV[6])
  redis.call('PEXPIRE', KEYS[1], remaining)
end
return -1 - remaining
