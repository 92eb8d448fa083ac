-- queue: shared by enter, unlock, leave, linger and the operations of readers. It precedes each of them.
--
-- Waiters for a lock are in a sorted set, by ticket. Each element is the channel of a client. A writer's ticket is a whole number
-- of us. A reader's ticket has half a us more: this marks readers. A free lock with waiters is kept for the first waiter. A kept
-- lock has no owner and grants nothing, so exclusion and tokens do not depend on it. If the first waiter is a reader, the lock is
-- kept for all readers up to the first writer.

-- A writer that waits may leave an offer. Then a release grants the lock to this writer, and publishes the grant, which saves a
-- round trip. The offer has the owner, the header of the owner's batch, and the longest lease that a release may grant (ms). The
-- offer expires after half of that lease. After that, a release calls the waiter instead. A request for a release has only the keys
-- of the lock and of its queue. This script makes the other keys from these. (Only a cluster needs all keys beforehand.)

-- A second sorted set (asked) has the time of each waiter's last request, by this master's clock, us. A waiter that made no request
-- for queueTTL (ms, defined before this file) is removed from both sets. Both sets expire queueTTL after the last request.

-- A batch visits about maxSteps (defined before this file) waiters and readers. If it stops there, before its work on a lock is
-- done, its reply has the key of this lock. Then the client sends a leave (leave.lua), which continues the work.
local steps = maxSteps

-- grant grants a free lock: see grant.lua.
local function grant(lock, fence, owner, ttl, waited, seen)
  local reply
  -- text: grant
  return type(reply) == 'table' and reply.broken and counts().lost(fence, reply.broken) or reply
end

-- later() records that the batch has no steps left for a lock.
local function later(lock)
  unfinished = unfinished or {}
  unfinished[lock] = true
end

-- publish replies the number of receivers; nil if the server refuses to publish: then the waiter may be alive.
local function publish(channel, message)
  local reply = redis.pcall('PUBLISH', channel, message)
  return type(reply) == 'number' and reply or nil
end

-- through() calls visit() for each waiter, in order. visit() returns true to stop, false to remove the waiter, nil to go on.
-- through() replies true if visit() stopped, false at the end of the queue, nil if the batch has no steps left. It visits at least
-- two waiters.
local function through(lock, queue, visit)
  local at, size = 0, 2
  repeat
    local some, out, found = redis.call('ZRANGE', queue, at, at + size - 1, 'WITHSCORES'), {}, false
    for i = 1, #some, 2 do
      local answer = visit(some[i], some[i + 1])
      if answer then
        found = true
        break
      elseif answer == false then
        out[#out + 1] = some[i]
      else
        at = at + 1
      end
      steps = steps - 1
    end
    if out[1] then
      redis.call('ZREM', queue, unpack(out))
    end
    if found then
      return true
    elseif #some < 2 * size then
      return false
    end
    size = math.min(16, steps)
  until size <= 0
  later(lock)
end

-- notify sends a notice to the first n live waiters, but does not keep the lock for them. It removes the dead waiters before them.
local function notify(lock, queue, n)
  through(lock, queue, function(channel)
    local receivers = publish(channel, lock)
    if receivers == 0 then
      return false
    end
    n = n - 1
    return not receivers or n == 0 or nil
  end)
end

-- below() replies the elements of a sorted set with a score below the given score. Their number is limited by the parameter
-- (most) and by the steps that are left. Each of these elements uses a step.
local function below(set, score, most)
  local some, out = redis.call('ZRANGE', set, 0, math.min(steps, most) - 1, 'WITHSCORES'), {}
  for i = 1, #some, 2 do
    if tonumber(some[i + 1]) < score then
      out[#out + 1] = some[i]
    end
  end
  steps = steps - #out
  return out
end

-- outdated removes the waiters whose last request is older than queueTTL. now is this master's time, us.
local function outdated(lock, queue, asked, now)
  local oldest = now - queueTTL * 1000
  local first = redis.call('ZRANGE', asked, 0, 0, 'WITHSCORES')[2]
  if not first or tonumber(first) >= oldest then
    return
  end
  if steps > 0 then
    local out = below(asked, oldest, steps)
    redis.call('ZREM', queue, unpack(out))
    redis.call('ZREM', asked, unpack(out))
  end
  if steps <= 0 then
    later(lock)
  end
end

-- timeNow replies this master's time, us.
local function timeNow()
  local time = time or redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- enqueue adds a waiter to the queue, or notes that it has asked again. half is '.5' for a reader without a ticket, else ''.
-- enqueue replies the time, us.
local function enqueue(lock, queue, asked, channel, ticket, half)
  local now = timeNow()
  local text = string.format('%.0f', now)
  if ticket == '0' then
    redis.call('ZADD', queue, 'NX', text .. half, channel)
  else
    redis.call('ZADD', queue, ticket, channel)
  end
  redis.call('ZADD', asked, text, channel)
  redis.call('PEXPIRE', queue, queueTTL)
  redis.call('PEXPIRE', asked, queueTTL)
  outdated(lock, queue, asked, now)
  return now
end

-- dequeue removes a waiter from the queue.
local function dequeue(queue, asked, channel)
  redis.call('ZREM', queue, channel)
  redis.call('ZREM', asked, channel)
end

-- keep keeps a free lock for a called waiter for 200 ms. In this time, the waiter's acquire should arrive.
local function keep(lock, channel)
  redis.call('SET', lock, ' ' .. channel, 'PX', 200)
end

-- enqueueRefused adds a refused caller to the queue, if the caller waits. half is '.5' for a reader, else ''. Replies the time, us,
-- if the caller needs a new ticket: the given ticket asks for the time, or is from a clock that was ahead.
local function enqueueRefused(lock, value, queue, channel, ticket, half, asked)
  if channel == '' then
    return
  end
  if read(value) and string.byte(value, -1) ~= 43 then -- '+'
    redis.call('APPEND', lock, '+')
  end
  local now = enqueue(lock, queue, asked, channel, ticket, half)
  return (ticket == '0' or tonumber(ticket) > now + queueTTL * 1000) and now
end

-- places is the number of places in line that a refusal distinguishes. The reply has the place times placeUnit, plus the remaining
-- ms, which are always fewer than placeUnit.
local places, placeUnit = 21, 2 ^ 42

-- held() replies the number for a refusal. The number encodes for how many ms the lock is expected to be taken, and the caller's
-- place in line, from 1. If the lock is kept for another waiter, the number encodes this instead of the place.
local function held(remaining, value, queue, channel)
  local place = 0
  if value and channelOf(value) then
    place = places + 1
  elseif channel ~= '' then
    place = places
    for i, other in ipairs(redis.call('ZRANGE', queue, 0, places - 2)) do
      if other == channel then
        place = i
      end
    end
  end
  return -1 - remaining - place * placeUnit
end

-- endOf replies for how many ms a refused caller must expect the lock to be taken. ttl is the caller's ttl.
local function endOf(lock, ttl)
  local remaining = redis.call('PTTL', lock)
  if remaining < 0 or remaining > tonumber(ttl) then
    local most = tonumber(redis.call('HGET', KEYS[1], 'maxTTL'))
    if remaining < 0 or remaining > most then
      -- The lock lost its ttl (PERSIST, a restored dump), or was written before the clock was set back. The owner's lease may last
      -- for the longest ttl from now, and for longer after a renewal.
      remaining = most
      redis.call('PEXPIRE', lock, remaining)
    end
  end
  return remaining
end

-- beside() replies the common prefix of all keys of a lock, and the lock's name.
local function beside(lock)
  local tag = string.find(lock, '}:lock:', #KEYS[1] - #'member', true)
  return string.sub(lock, 1, tag + 1), string.sub(lock, tag + #'}:lock:')
end

-- offerKey replies the key of the offer of the waiter on a channel.
local function offerKey(all, channel, name)
  return all .. 'offer:' .. channel .. ' ' .. name
end

-- offer stores an offer.
local function offer(lock, channel, owner, takes)
  local all, name = beside(lock)
  redis.call('SET', offerKey(all, channel, name), owner .. ' ' .. ARGV[1] .. ' ' .. takes, 'PX', math.ceil(takes / 2))
end

-- withdraw removes the offer of the waiter on a channel, if the offer is this owner's.
local function withdraw(lock, channel, owner)
  local all, name = beside(lock)
  local key = offerKey(all, channel, name)
  if isOwner(redis.call('GET', key), owner) then
    redis.call('DEL', key)
  end
end

-- isReader reports whether a ticket is a reader's.
local function isReader(ticket)
  return tonumber(ticket) % 1 ~= 0
end

-- give() grants a free lock to the waiter on a channel. For this, the master must vote, and the waiter must have an offer with the
-- same header as this batch. give() publishes the grant with this member's id: this notice is the member's vote. It returns true if
-- it granted the lock, false if nobody is subscribed, and nil if the waiter must be called.
local function give(lock, channel)
  local all, name = beside(lock)
  local key = offerKey(all, channel, name)
  local owner, version, takes = string.match(redis.call('GET', key) or '', '^(%S+) (%S+) (%d+)$')
  if not owner or not votes or version ~= ARGV[1] then
    return nil
  end
  if redis.call('EXISTS', all .. 'gone:' .. owner) == 1 then
    return nil
  end
  local number = grant(lock, all .. 'fence', owner, takes, '+')
  if type(number) ~= 'number' then
    return nil
  end
  local receivers = publish(channel, string.format('given %s %s %d %s', string.match(version, '^(.*)@'), owner, number, lock))
  if receivers and receivers > 0 then
    redis.call('DEL', key)
    return true
  end
  redis.call('DEL', lock)
  return receivers and false
end

-- callNext removes the first live waiter from the queue, and calls this waiter. But if gives is true, and the waiter's offer allows
-- it, callNext grants the lock to the waiter. If a called waiter does not acquire (for example, a stopped process), the others ask
-- again by themselves. callNext replies whether it found a live waiter. If the batch runs out of steps first, callNext keeps the
-- lock for the next live waiter, and replies true. If the server refuses to publish, all waiters keep their places.
local function callNext(lock, queue, gives)
  local first, reads, given
  local ended = through(lock, queue, function(channel, ticket)
    if gives and not isReader(ticket) then
      given = give(lock, channel)
      if given == false then
        return false
      end
    end
    local receivers = given or publish(channel, lock)
    if receivers == 0 then
      return false
    elseif receivers then
      first, reads = channel, isReader(ticket)
    end
    return true
  end)
  if not first then
    if ended == nil then
      keep(lock, '{next}')
    end
    return ended == nil
  end
  redis.call('ZREM', queue, first)
  if reads then
    first = '{read}' .. (shared().callReaders(lock, queue) and '' or first)
  end
  if not given then
    keep(lock, first)
  end
  return true
end
