-- queue: what acquire, release and leave share. It stands before each of them.
--
-- Those that wait for a lock stand in a sorted set, by ticket; a member is the channel on which its client hears. The
-- ticket of one that is to read has half a us more than full ones. A lock that is free while somebody waits is kept for the
-- first of them. Nobody owns it then and it grants nothing, so no rule of exclusion or of tokens rests on it. When the first
-- is a reader, it is kept for all readers up to the first writer, and the tickets tell who they are.

-- A writer may leave an offer beside its place: a release then grants the lock to it and tells it so, which saves it a round trip.
-- The offer is the owner, the header of the batch that made it, and for how long the owner lets a release grant (ms). It ends
-- after half of that: who has waited for longer is called. One who frees a lock that others wait for sends no more than the lock and
-- its queue; the other keys are made of these. (Redis wants to know all keys beforehand only as a cluster, which no master is part of.)

-- When each last asked stands in a second sorted set, by this master's time, in us. Who does not ask again is taken out of both
-- after queueTTL, in ms, which stands before this file; and both end so long after the last word of all.

-- A batch goes past so many at most, in queues and among readers, whatever they hold: maxSteps stands before this file too. Where
-- it stops, it tells the client, which has leave.lua go on in its next batch.
local steps = maxSteps

-- later notes that there is more to do for a lock.
local function later(lock)
  unfinished = unfinished or {}
  unfinished[lock] = true
end

-- heard replies how many hear a message; nil when the server refuses to tell them, which does not mean that they are dead.
local function heard(channel, message)
  local told = redis.pcall('PUBLISH', channel, message)
  return type(told) == 'number' and told or nil
end

-- through shows those in the queue to visit, in order, until it replies true. Those for whom it replies false are taken out.
-- Replies true if visit did; false at the end of the queue; nil where the steps of the batch end. The first two in the queue are
-- shown even then.
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

-- tell calls the first n in the queue who hear it, and keeps nothing for them. Those before them who do not are taken out.
local function tell(lock, queue, n)
  through(lock, queue, function(channel)
    local hear = heard(channel, lock)
    if hear == 0 then
      return false
    end
    n = n - 1
    return not hear or n == 0 or nil
  end)
end

-- below replies those of the first so many in a sorted set whose score is below one. Each is a step.
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

-- outdated takes out those whose last word is too old at a time, us.
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
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- stand puts one into the queue, or renews its word there. half is '.5' for a reader that has no ticket yet, else ''. Replies the
-- time, us.
local function stand(lock, queue, asked, channel, ticket, half)
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

-- standDown takes one out of the queue.
local function standDown(queue, asked, channel)
  redis.call('ZREM', queue, channel)
  redis.call('ZREM', asked, channel)
end

-- keep keeps a free lock for one that waits, for as long as a caller may take to come.
local function keep(lock, channel)
  redis.call('SET', lock, ' ' .. channel, 'PX', 200)
end

-- standInLine puts one that is refused into the queue, if it waits. half is '.5' for a reader, else ''. Replies the time, us,
-- if it asked for that.
local function standInLine(lock, value, queue, channel, ticket, half, asked)
  if channel == '' then
    return
  end
  if read(value) and string.byte(value, -1) ~= 43 then -- '+'
    redis.call('APPEND', lock, '+')
  end
  local now = stand(lock, queue, asked, channel, ticket, half)
  return ticket == '0' and now
end

-- places is how many places in line a refusal tells apart, and placeUnit what it counts them in: more than any remaining ms.
local places, placeUnit = 21, 2 ^ 42

-- held replies a refusal: for how many ms one has to expect the lock, and for who stands in line its place, from 1; or that the
-- lock is nobody's, and kept for another one who was called.
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

-- beside replies what all keys of a lock begin with, and its name.
local function beside(lock)
  local tag = string.find(lock, '}:lock:', #KEYS[1] - #'member', true)
  return string.sub(lock, 1, tag + 1), string.sub(lock, tag + #'}:lock:')
end

-- offerKey replies the key of the offer of the waiter on a channel.
local function offerKey(all, channel, name)
  return all .. 'offer:' .. channel .. ' ' .. name
end

-- offer leaves one.
local function offer(lock, channel, owner, takes)
  local all, name = beside(lock)
  redis.call('SET', offerKey(all, channel, name), owner .. ' ' .. ARGV[1] .. ' ' .. takes, 'PX', math.ceil(takes / 2))
end

-- withdraw takes back the offer of the waiter on a channel, if it is this owner's.
local function withdraw(lock, channel, owner)
  local all, name = beside(lock)
  local key = offerKey(all, channel, name)
  if isOwner(redis.call('GET', key), owner) then
    redis.call('DEL', key)
  end
end

-- isReader reports whether a ticket is that of one that is to read.
local function isReader(ticket)
  return tonumber(ticket) % 1 ~= 0
end

-- give grants a free lock to the waiter on a channel, if its offer stands and this master votes at the version of the offer and of
-- the batch, and publishes that, with the id of this member: the notice is its vote. Returns true if it did; false if nobody is
-- subscribed; nil if this waiter is to be called.
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
  local hear = heard(channel, string.format('given %s %s %d %s', string.match(version, '^(.*)@'), owner, number, lock))
  if hear and hear > 0 then
    redis.call('DEL', key)
    return true
  end
  redis.call('DEL', lock)
  return hear and false
end

-- callNext calls the first in the queue that hears, and keeps the lock for it; or, if it gives, grants it the lock, if that one
-- takes it so. Who was called has left the queue. If it does not come (its process was stopped, say), those behind it ask by
-- themselves. Replies whether there was anybody, or may be: where the steps of the batch end first, the lock is kept for who is
-- found next. If the server refuses to call, nobody is called, and all keep their places.
local function callNext(lock, queue, gives)
  local first, reads, given
  local ended = through(lock, queue, function(channel, ticket)
    if gives and not isReader(ticket) then
      given = give(lock, channel)
      if given == false then
        return false
      end
    end
    local hear = given or heard(channel, lock)
    if hear == 0 then
      return false
    elseif hear then
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
