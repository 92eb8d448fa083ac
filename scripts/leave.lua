-- leave: a waiter does not wait any more, or was called and does not come.
--
-- Keys       lock, queue
-- Arguments  channel
--
-- Replies 1.
--
-- Invariants: frees nothing that is owned.
local function leave(lock, queue, channel)
  redis.call('ZREM', queue, channel)
  local value = valueAt(lock)
  local keptFor = value and channelOf(value)
  if keptFor and (keptFor == channel or keptFor == '{read}' .. channel) then
    redis.call('DEL', lock)
    callNext(lock, queue)
  elseif value and string.find(value, '- ', 1, true) == 1 then -- it lingers, and those who know until when may have left
    local first = redis.call('ZRANGE', queue, 0, 0)[1]
    if first then
      redis.pcall('PUBLISH', first, lock)
    end
  elseif not value and shared().sweep(lock) then
    shared().callReaders(lock, queue) -- it may be a writer that stood before them
  end
  return 1
end
