-- share: acquire the lock for reading.
--
-- Keys       lock, fence, gone (mark of this owner), queue, asked
-- Arguments  owner
--            ttl      ms
--            channel  of the waiter; '': the reader does not wait on this master
--            ticket   the waiter's place in the queue, us since 1970 by the masters' time, and a half; '0' asks for this master's
--                     time; '': the reader does not wait. If there is a ticket, later writers do not keep the reader out, even
--                     without a channel
--
-- Replies an integer:
--   counter        granted: the bucket's counter
--   -1 - remaining refused, for so many ms more: a writer holds the lock, or was called, or is before the reader in the queue
--   -time          also refused, if the ticket asked for this master's time or is far ahead of it: the time in us, above 1e14
-- Errors: NOTMEMBER, the bucket's counter is missing or corrupt; GONE, this owner gave up here.
--
-- Invariants: a master grants to a reader only while no writer has the lock there. The grant does not raise the counter. A second
-- run changes only the end of this reader's hold, which never moves back. An owner that gave up is never granted. A refused reader
-- that waits is in the queue after the refusal. No reader is granted before a writer that came first. (A called writer is no longer
-- in the queue, but the ticket in its acquire shows its place.)

-- behindWriter is the longest time that a reader behind a queued writer waits before it asks again. If the writer gives up, the
-- reader is called. If the writer dies, nobody calls the reader.
local behindWriter = 1000 -- ms

local function share(lock, fence, gone, queue, owner, ttl, channel, ticket, asked)
  local counter = counts().counterAt(fence)
  if not counter then
    return counts().lost(fence)
  end
  if redis.call('EXISTS', lock, gone, queue) == 0 then
    put(lock, owner, ttl)
    return counter
  end
  local value = valueAt(lock)
  local left = not value and sweep(lock)
  if left and reads(lock, owner) then
    put(lock, owner, ttl)
    return counter
  end
  local keptFor = value and channelOf(value)
  local written = value and not keptFor
  if (not written or channel ~= '') and redis.call('EXISTS', gone) == 1 then
    return redis.error_reply('GONE this owner gave up here')
  end
  local called = keptFor and channel ~= '' and (keptFor == channel or keptFor == '{read}' .. channel)
  local forReaders = left or not value or keptFor and string.find(keptFor, '{read}', 1, true) == 1
  local behind = not called and forReaders and writerBefore(lock, queue, channel, ticket)
  if behind and not value and not left then -- the lock has expired
    behind = callNext(lock, queue)
  end
  if called or forReaders and not behind then
    if keptFor then
      redis.call('DEL', lock)
    end
    if channel ~= '' then
      dequeue(queue, asked, channel)
    end
    put(lock, owner, ttl)
    callReaders(lock, queue)
    return counter
  end

  local time = enqueueRefused(lock, value, queue, channel, ticket, '.5', asked)
  if time then
    return -time
  end
  return held(left and math.min(bounded(lock, left, ttl), behindWriter) or endOf(lock, ttl), left and value or valueAt(lock), queue, channel)
end
