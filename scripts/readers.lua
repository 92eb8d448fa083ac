-- readers: shared by the operations of a lock that readers hold. It precedes each of them.
--
-- Such a lock is a sorted set of the owners that read. The score of each owner is the end of its hold, ms since 1970 by this
-- master's clock. So each hold ends by itself, whatever other readers do. The key expires with the last hold.

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- sweep removes readers whose time is over, 16 at most. Replies the remaining ms of the reader whose time ends last; nil if the
-- time of all readers is over. The lock must not be a string.
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

-- reads() replies the end of an owner's hold as a reader; nil if its time is over, or if the owner does not read.
local function reads(lock, owner)
  local ends = redis.call('ZSCORE', lock, owner)
  return ends and tonumber(ends) >= now() and ends or nil
end

-- put extends a reader's time to at least ttl from now, or adds the reader. Replies how many ms the reader had left before.
local function put(lock, owner, ttl)
  local at = now()
  local had = math.max(tonumber(redis.call('ZSCORE', lock, owner) or at), at)
  if had < at + ttl then
    redis.call('ZADD', lock, at + ttl, owner)
  end
  redis.call('PEXPIREAT', lock, redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2])
  return had - at
end

-- bounded() replies for how many ms a refused caller must expect readers: at most the longest lease (maxTTL). If a reader's time
-- ends later than maxTTL from now, the clock was set back: then bounded() shortens this reader's time.
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

-- without() is called after a reader has left, and does the same as sweep(). score is when the hold of this reader would have
-- ended. If all remaining holds end before score, the first waiter also gets a notice, although the lock is not free. So this
-- waiter asks again, and the refusal has the new end. (If the remaining readers are dead, no release calls the waiter.)
local function without(lock, queue, score)
  local left = sweep(lock)
  if left and now() + left < tonumber(score) then
    notify(lock, queue, 1)
  end
  return left
end

-- callReaders calls the readers at the head of the queue, up to the first live writer. It removes the called readers and the dead
-- waiters before that writer from the queue. (While readers hold the lock, a dead writer in the queue would keep new readers
-- out.) If the server refuses to publish, callReaders stops. Replies whether any reader was called.
local function callReaders(lock, queue)
  local called = false
  through(lock, queue, function(channel, ticket)
    if not isReader(ticket) then
      return publish(channel, '') ~= 0 -- '' is not a notice: it only shows whether there is a receiver
    end
    local receivers = publish(channel, lock)
    if not receivers then
      return true
    elseif receivers > 0 then
      called = true
    end
    return false
  end)
  return called
end

-- writerBefore reports whether a live writer precedes this reader in the queue, and removes the dead writers before the
-- first live one. The reader may have been called, and so be out of the queue: its ticket shows its place. If the batch has no
-- steps left, writerBefore returns true. If the server refuses to publish, a writer counts as alive.
local function writerBefore(lock, queue, channel, ticket)
  local mine, before = tonumber(ticket) or 0, false
  local ended = through(lock, queue, function(other, its)
    if mine > 0 and mine < tonumber(its) then
      return true
    elseif isReader(its) or other == channel then
      return nil
    end
    before = publish(other, '') ~= 0
    return before
  end)
  return before or ended == nil
end

