-- queue: what acquire, release and leave share. It stands before each of them.
--
-- Those that wait for a lock stand in a sorted set, by ticket; a member is the channel on which its client hears. The
-- ticket of one that is to read has half a us more than full ones. A lock that is free while somebody waits is kept for the first of them. Nobody owns it then and it grants nothing, so
-- no rule of exclusion or of tokens rests on it. When the first is a reader, it is kept for all readers up to the first
-- writer, and the tickets tell who they are.

-- A queue outlasts the last word of those in it by queueTTL, in ms, which stands before this file.

-- keep keeps a free lock for one that waits, for as long as a caller may take to come.
local function keep(lock, channel)
  redis.call('SET', lock, ' ' .. channel, 'PX', 200)
end

-- standInLine puts one that is refused into the queue, if it waits. half is '.5' for a reader, else ''. Replies the time, us,
-- if it asked for that.
local function standInLine(lock, value, queue, channel, ticket, half)
  if channel == '' then
    return
  end
  if read(value) and string.byte(value, -1) ~= 43 then -- '+'
    redis.call('APPEND', lock, '+')
  end
  local now
  if ticket == '0' then
    local time = redis.call('TIME')
    now = string.format('%.0f', time[1] * 1000000 + time[2])
    redis.call('ZADD', queue, 'NX', now .. half, channel)
  else
    redis.call('ZADD', queue, 'CH', ticket, channel)
  end
  redis.call('PEXPIRE', queue, queueTTL)
  return tonumber(now)
end

-- endOf replies the ms for which one that is refused has to expect the lock. ttl is its own.
local function endOf(lock, ttl)
  local remaining = redis.call('PTTL', lock)
  if remaining < 0 or remaining > tonumber(ttl) then
    local most = tonumber(redis.call('HGET', KEYS[1], 'maxTTL'))
    if remaining < 0 or remaining > most then
      -- It lost its ttl (PERSIST, a restored dump), or was written while the clock was ahead, which was set back since. Its
      -- owner may be valid for the longest lease yet, and renew before that.
      remaining = most
      redis.call('PEXPIRE', lock, remaining)
    end
  end
  return remaining
end

-- callNext calls the first in the queue that can be told, and keeps the lock for it. Who was called has left the queue.
-- The one behind it is told to stand by, in case the first does not come (its process was stopped, say). Replies whether
-- there was anybody.
local function callNext(lock, queue)
  while true do
    local first, ticket = unpack(redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES'))
    if not first then
      return false
    end
    if ticket % 1 ~= 0 then -- a reader's
      first = shared().callReaders(lock, queue)
    else
      redis.call('ZREM', queue, first)
      local told = redis.pcall('PUBLISH', first, lock)
      first = type(told) == 'number' and told > 0 and first
    end
    if first then
      keep(lock, first)
      local second = redis.call('ZRANGE', queue, 0, 0)[1]
      if second then
        redis.pcall('PUBLISH', second, 'standby ' .. lock)
      end
      return true
    end
  end
end

