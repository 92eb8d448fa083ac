-- unlock: free the lock.
--
-- Keys       lock, gone (mark of this owner; nil without a mark), queue, asked (with a ticket)
-- Arguments  owner
--            mark             ttl of the gone mark, ms; 0: no mark
--            channel, ticket  ''     , ''      the first waiter in the queue is called, or granted the lock
--                             channel, '-'     the same; this waiter leaves the queue, and its offer is removed
--                             channel, '~'     as '-', but this waiter does not leave the queue
--                             channel, ''      the lock is kept for this waiter, whose acquire follows on this connection
--                             channel, ticket  this waiter has a grant, but no quorum: it waits again, and its offer is removed
--
-- Replies 1, done; 0, the lock was free; -1, another owner has it, or it is kept for a waiter.
--
-- Invariants: frees no other owner's lock. After a release with a mark, the master refuses an acquire of this owner that is still
-- under way, and no release uses this owner's offer. The mark is a key of its own: the lock's key may be a rival's now, and
-- deleted before the late acquire comes. If no acquire is under way, it is enough to remove the offer.
local function unlock(lock, gone, queue, owner, mark, channel, ticket, asked)
  if ticket ~= '' then
    withdraw(lock, channel, owner)
  end
  if ticket == '-' then
    dequeue(queue, asked, channel)
  end
  if ticket == '-' or ticket == '~' then
    channel, ticket = '', ''
  end
  local value = valueAt(lock)
  local left = not value and shared().sweep(lock)
  local reads = left and shared().reads(lock, owner)
  local others = not reads and not isOwner(value, owner)
  if reads then
    redis.call('ZREM', lock, owner)
  elseif not others then
    redis.call('DEL', lock)
  end
  if mark ~= '0' then -- after the DEL: a master without memory runs this command only if the script has written before
    redis.call('SET', gone, '', 'PX', mark)
  end
  if others then
    return (value or left) and -1 or 0
  end
  if reads then
    left = shared().without(lock, queue, reads)
  end
  if ticket ~= '' then
    enqueue(lock, queue, asked, channel, ticket, '')
  end
  if left then
    return 1 -- the reader that leaves last calls the next waiter
  elseif ticket ~= '' then
    callNext(lock, queue)
  elseif reads or string.byte(value, -1) == 43 then -- '+'
    if channel == '' then
      callNext(lock, queue, true)
    elseif redis.call('EXISTS', queue) == 1 then
      keep(lock, channel)
    end
  end
  return 1
end
