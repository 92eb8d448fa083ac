-- readers: a lock that readers have, and what their operations share. It stands before each of them.
--
-- Such a lock is a sorted set: the owners that read, each by when its hold ends, ms since 1970 by this master's clock. So each
-- ends by itself, whoever else reads. The key ends with the last of them.

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- isReader reports whether a ticket is that of one that is to read.
local function isReader(ticket)
  return tonumber(ticket) % 1 ~= 0
end

-- sweep takes out the readers whose time is over. Replies for how many ms more the last of the others has the lock, or nil if
-- there is none. The lock must be no string.
local function sweep(lock)
  local at = now()
  redis.call('ZREMRANGEBYSCORE', lock, '-inf', '(' .. at)
  local last = redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2]
  return last and tonumber(last) - at
end

-- put gives a reader at least ttl from now. Replies the ms that it had.
local function put(lock, owner, ttl)
  local at = now()
  local had = tonumber(redis.call('ZSCORE', lock, owner) or at)
  if had < at + ttl then
    redis.call('ZADD', lock, at + ttl, owner)
  end
  redis.call('PEXPIREAT', lock, redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2])
  return had - at
end

-- bounded replies the ms for which one that is refused has to expect readers. No reader has the lock for longer than the
-- longest lease: one that seems to joined while the clock was ahead, which was set back since.
local function bounded(lock, left, ttl)
  if left <= tonumber(ttl) then
    return left
  end
  local at, most = now(), tonumber(redis.call('HGET', KEYS[1], 'maxTTL'))
  while left > most do
    local last = redis.call('ZRANGE', lock, -1, -1)[1]
    redis.call('ZADD', lock, at + most, last)
    redis.call('PEXPIREAT', lock, at + most)
    left = tonumber(redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2]) - at
  end
  return left
end

-- without replies what sweep does, after a reader left whose time would have ended at a score. If that was the last one, the
-- first in line is told to ask again: it has been told to expect readers until then, and those that are left may be dead.
local function without(lock, queue, score)
  local left = sweep(lock)
  if left and now() + left < tonumber(score) then
    local first = redis.call('ZRANGE', queue, 0, 0)[1]
    if first then
      redis.pcall('PUBLISH', first, 'standby ' .. lock)
    end
  end
  return left
end

-- callReaders calls the readers at the head of the queue, up to the first writer. Who was called has left the queue. Replies
-- for whom to keep a free lock, or false when none of them can be told.
local function callReaders(lock, queue)
  local keptFor = false
  while true do
    local first, ticket = unpack(redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES'))
    if not first or not isReader(ticket) then
      return keptFor
    end
    redis.call('ZREM', queue, first)
    local told = redis.pcall('PUBLISH', first, lock)
    if type(told) == 'number' and told > 0 then
      keptFor = keptFor and '{read}' or '{read}' .. first
    end
  end
end

-- writerBefore reports whether a writer stands in the queue before one that is to read, which may stand there itself, or have
-- been called. A writer that nobody hears is taken out: its process died, and it would keep readers out as long as others read.
local function writerBefore(queue, channel, ticket)
  local mine = tonumber(ticket) or 0
  local at = 0
  while true do
    local some = redis.call('ZRANGE', queue, at, at + 15, 'WITHSCORES')
    for i = 1, #some, 2 do
      local other, its = some[i], some[i + 1]
      if mine > 0 and mine < tonumber(its) then
        return false
      end
      if not isReader(its) and other ~= channel then
        local told = redis.pcall('PUBLISH', other, '') -- which is no notice
        if type(told) == 'number' and told > 0 then
          return true
        end
        redis.call('ZREM', queue, other)
        at = at - 1
      end
    end
    if #some < 32 then
      return false
    end
    at = at + 16
  end
end

