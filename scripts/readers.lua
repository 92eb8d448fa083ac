-- readers: a lock that readers have, and what their operations share. It stands before each of them.
--
-- Such a lock is a sorted set: the owners that read, each by when its hold ends, ms since 1970 by this master's clock. So each
-- ends by itself, whoever else reads. The key ends with the last of them.

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- sweep takes out readers whose time is over, or the first few of them. Replies for how many ms more the last of all has the
-- lock, or nil if the time of all is over. The lock must be no string.
local function sweep(lock)
  local at = now()
  local first = redis.call('ZRANGE', lock, 0, 0, 'WITHSCORES')[2]
  if not first then
    return nil
  elseif tonumber(first) < at and steps > 0 then
    redis.call('ZREM', lock, unpack(below(lock, at, 16)))
  end
  local last = tonumber(redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2] or 0)
  return last >= at and last - at or nil
end

-- reads replies when the hold of a reader ends, or nil if its time is over or it is none.
local function reads(lock, owner)
  local ends = redis.call('ZSCORE', lock, owner)
  return ends and tonumber(ends) >= now() and ends or nil
end

-- put gives a reader at least ttl from now. Replies the ms that it had.
local function put(lock, owner, ttl)
  local at = now()
  local had = math.max(tonumber(redis.call('ZSCORE', lock, owner) or at), at)
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
  while left > most and steps > 0 do
    steps = steps - 1
    local last = redis.call('ZRANGE', lock, -1, -1)[1]
    redis.call('ZADD', lock, at + most, last)
    redis.call('PEXPIREAT', lock, at + most)
    left = tonumber(redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2]) - at
  end
  return math.min(left, most)
end

-- without replies what sweep does, after a reader left whose time would have ended at a score. If that was the last one, the
-- first in line is called in vain, to ask again: it has been told to expect readers until then, and those that are left may be
-- dead.
local function without(lock, queue, score)
  local left = sweep(lock)
  if left and now() + left < tonumber(score) then
    tell(lock, queue, 1)
  end
  return left
end

-- callReaders calls the readers at the head of the queue, up to the first writer. Who was called has left the queue, and so
-- have those that nobody hears: a writer among them would keep readers out as long as others read. Replies whether anybody was
-- called.
local function callReaders(lock, queue)
  local called = false
  through(lock, queue, function(channel, ticket)
    if not isReader(ticket) then
      return heard(channel, '') ~= 0 -- '' is no notice
    end
    local hear = heard(channel, lock)
    if not hear then
      return true
    elseif hear > 0 then
      called = true
    end
    return false
  end)
  return called
end

-- writerBefore reports whether a writer stands in the queue before one that is to read, which may stand there itself, or have
-- been called; or whether one may, where the steps of the batch end. A writer that nobody hears is taken out. One that the
-- server refuses to tell may live.
local function writerBefore(lock, queue, channel, ticket)
  local mine, before = tonumber(ticket) or 0, false
  local ended = through(lock, queue, function(other, its)
    if mine > 0 and mine < tonumber(its) then
      return true
    elseif isReader(its) or other == channel then
      return nil
    end
    before = heard(other, '') ~= 0
    return before
  end)
  return before or ended == nil
end

