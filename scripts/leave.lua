-- leave: remove a waiter that stops waiting, or that was called but asks no more; or continue where a batch had no steps left.
--
-- Keys       lock, queue, asked
-- Arguments  channel of the waiter; '{next}': continue
--
-- Replies 1.
--
-- Invariants: frees no lock that has an owner.
local function leave(lock, queue, asked, channel)
  if channel == '{next}' then
    outdated(lock, queue, asked, timeNow())
  else
    dequeue(queue, asked, channel)
  end
  local value = valueAt(lock)
  local keptFor = value and channelOf(value)
  if keptFor and (keptFor == channel or keptFor == '{read}' .. channel) then
    redis.call('DEL', lock)
    callNext(lock, queue)
  elseif value and string.find(value, '- ', 1, true) == 1 then -- it lingers, and the waiters that linger.lua notified may have left
    notify(lock, queue, 2)
  elseif keptFor and string.find(keptFor, '{read}', 1, true) == 1 then
    if shared().callReaders(lock, queue) then -- the lock stays kept for the readers that were called
      keep(lock, '{read}')
    end
  elseif not value and shared().sweep(lock) then
    shared().callReaders(lock, queue) -- the waiter that left may be a writer that kept these readers out
  elseif not value then
    callNext(lock, queue)
  end
  return 1
end
