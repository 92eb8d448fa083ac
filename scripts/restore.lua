-- restore: write a reader's hold back to a master that lost this hold, or never granted it.
--
-- Keys       lock, gone (mark of this owner), queue
-- Arguments  owner, ttl (ms)
--
-- Replies 1, the owner now reads here; 0, a writer holds the lock, or this owner gave up here.
--
-- Invariants: never takes a lock from its owner. Only a holder whose lease is valid may send a restore.
local function restore(lock, gone, queue, owner, ttl)
  if turn(lock, queue, owner, ttl) >= 0 then
    return 1
  end
  local value = valueAt(lock)
  if value and not channelOf(value) or redis.call('EXISTS', gone) == 1 then
    return 0
  end
  if value then
    redis.call('DEL', lock) -- it was kept for a called waiter, whose acquire is now refused and joins the queue again
  end
  put(lock, owner, ttl)
  return 1
end

return {sweep = sweep, reads = reads, without = without, bounded = bounded, callReaders = callReaders, share = share, stay = stay, turn = turn, know = know, restore = restore}
