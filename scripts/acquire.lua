-- acquire: enter the lock, fresh or again.
--
-- Keys       lock, fence, gone (mark of this owner), line
-- Arguments  owner
--            depth   absolute; 1 is a fresh acquisition
--            ttl     ms
--            who     waits; '': does not wait, or not here
--            ticket  the place in line, us since 1970 by the masters' time; '0' asks for this master's time
--
-- Replies an integer:
--   grant number   granted: the INCR of this grant, or the stored one if the lock is the owner's already
--   0              lost: a re-entry (depth > 1), and the lock is not this owner's
--   -1 - remaining held by another, or kept for one, for so many ms more
--   -time          the same, when the time was asked for: us, above 1e14
-- Errors: NOTADMITTED, the bucket's counter is missing or corrupt; GONE, this owner gave up here.
--
-- Invariants: a grant number is given once. Running it again changes nothing but the ttl, which never
-- shrinks. A re-entry never creates a lock. An owner that gave up is never granted. Who waits and is refused stands in
-- line from then on. Every lock that somebody is refused for ends by its ttl.
local function acquire(lock, fence, gone, line, owner, depth, ttl, who, ticket)
  local clean = redis.call('EXISTS', lock, gone, line) == 0
  local free = clean
  if not clean then
    local held = redis.call('HMGET', lock, 'owner', 'grant', 'next')
    if held[1] == owner then
      redis.call('HSET', lock, 'depth', depth)
      if redis.call('PTTL', lock) < tonumber(ttl) then
        redis.call('PEXPIRE', lock, ttl)
      end
      return tonumber(held[2])
    end
    if not held[1] then
      if redis.call('EXISTS', gone) == 1 then
        return redis.error_reply('GONE this owner gave up here')
      end
      if held[3] then
        free = held[3] == who
      else
        -- Who was called is not in line any more, and may come when the 200 ms are over: its ticket tells.
        local first = redis.call('ZRANGE', line, 0, 0, 'WITHSCORES')
        local before = who ~= '' and ticket ~= '0' and first[2] and tonumber(ticket) <= tonumber(first[2])
        free = first[1] == who or before or not callUp(lock, line)
      end
    end
  end
  if depth ~= '1' then
    return 0
  end

  if free then
    local grant = redis.pcall('INCR', fence)
    if type(grant) == 'table' and not (string.find(grant.err, 'not an integer', 1, true)
      or string.find(grant.err, 'overflow', 1, true) or string.find(grant.err, 'WRONGTYPE', 1, true)) then
      return grant -- out of memory, say
    end
    if type(grant) == 'table' or grant <= 1 or grant > maxCounter then
      -- Counters start far above 1: this one was lost, or overwritten. It must not start to count again by itself, and
      -- what it forgot may be in force yet: note since when, in a form that INCR refuses.
      local stands = redis.pcall('GET', fence)
      local mark = type(stands) == 'string' and string.match(stands, '^(%a+) %d+$')
      if not mark then
        mark = grant == 1 and 'lost' or 'corrupt'
        local time = redis.call('TIME')
        redis.call('SET', fence, string.format('%s %.0f', mark, time[1] * 1000 + math.floor(time[2] / 1000)))
      end
      return redis.error_reply(string.format('NOTADMITTED the fencing counter %s is %s', fence,
        mark == 'lost' and 'missing' or string.format('corrupt: it was no number from 1 to %.0f', maxCounter)))
    end
    if not clean then
      redis.call('DEL', lock)
      redis.call('ZREM', line, who)
    end
    redis.call('HSET', lock, 'owner', owner, 'depth', depth, 'grant', grant)
    redis.call('PEXPIRE', lock, ttl)
    return grant
  end

  if who ~= '' and ticket == '0' then
    local time = redis.call('TIME')
    local now = string.format('%.0f', time[1] * 1000000 + time[2])
    redis.call('ZADD', line, 'NX', now, who)
    redis.call('PEXPIRE', line, lineTTL)
    return -tonumber(now)
  elseif who ~= '' then
    redis.call('ZADD', line, 'CH', ticket, who)
    redis.call('PEXPIRE', line, lineTTL)
  end
  local remaining = redis.call('PTTL', lock)
  if remaining < 0 then
    -- It lost its ttl (PERSIST, a restored dump). Its owner may be valid for the longest lease yet, and renew before that.
    remaining = maxTTL
    redis.call('PEXPIRE', lock, remaining)
  end
  return -1 - remaining
end
