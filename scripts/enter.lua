-- enter: acquire the lock for writing.
--
-- Keys       lock, fence, gone (mark of this owner), queue, asked (only with a channel)
-- Arguments  owner
--            ttl      ms
--            channel  of the waiter; '': the caller does not wait on this master
--            ticket   the waiter's place in the queue, us since 1970 by the masters' time; '0' asks for this master's time
--            takes    the longest lease that a release may grant the waiter, ms; '0': a release calls the waiter instead
--            seen     the highest token of the bucket that the client has seen: see grant.lua
--
-- Replies an integer:
--   grant number   granted: the counter after this grant, or the stored number if the lock is the owner's already
--   -1 - remaining refused: held by another owner or by readers, or kept for a waiter, for so many ms more; the reply also encodes
--                  the place in line (see the function held in queue.lua)
--   -time          also refused, if the ticket asked for this master's time or is far ahead of it: the time in us, above 1e14
-- Errors: NOTMEMBER, the bucket's counter is missing or corrupt; GONE, this owner gave up here.
--
-- Invariants: each grant number is given only once. A second run with the same owner changes nothing but the ttl, which never
-- shrinks. An owner that gave up is never granted the lock, and leaves no offer. A refused waiter is in the queue after the
-- refusal. Every lock that causes a refusal has a ttl. The offer has the header of the batch.
local function contend(lock, fence, gone, queue, owner, ttl, channel, ticket, asked, takes, seen)
  local free = false
  local found = redis.call('MGET', lock, gone)
  local value, marked = found[1], found[2]
  if isOwner(value, owner) then
    return reenter(lock, owner, ttl)
  end
  local left = not value and shared().sweep(lock) -- the remaining ms of its readers
  local keptFor = value and channelOf(value)
  if keptFor or not value and not left then
    if marked then
      return redis.error_reply('GONE this owner gave up here')
    end
    if keptFor then
      free = keptFor == channel
    else
      -- A waiter that was called is no longer in the queue. The lock was kept for this waiter for 200 ms. If the waiter's acquire
      -- comes later than that, only the ticket in the acquire shows the waiter's place in line.
      local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
      local before = channel ~= '' and ticket ~= '0' and first[2] and tonumber(ticket) <= tonumber(first[2])
      free = first[1] == channel or before or not callNext(lock, queue)
      value = not free and valueAt(lock) -- callNext may have kept the lock for a waiter
    end
  end
  if free then
    if channel ~= '' then
      dequeue(queue, asked, channel)
    end
    return grant(lock, fence, owner, ttl, '+', seen)
  end

  if channel ~= '' and marked then
    return redis.error_reply('GONE this owner gave up here')
  end
  local time = enqueueRefused(lock, value, queue, channel, ticket, '', asked)
  if takes and takes ~= '0' then
    offer(lock, channel, owner, takes)
  end
  if time then
    return -time
  end
  return held(left and shared().bounded(lock, left, ttl) or endOf(lock, ttl), value, queue, channel)
end

local function enter(lock, fence, gone, queue, owner, ttl, channel, ticket, asked, takes, seen)
  if redis.call('EXISTS', lock, gone, queue) ~= 0 then
    return contend(lock, fence, gone, queue, owner, ttl, channel, ticket, asked, takes, seen)
  end
  return grant(lock, fence, owner, ttl, '', seen)
end
