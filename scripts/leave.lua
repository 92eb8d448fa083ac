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
  local value = redis.call('GET', lock)
  if value and channelOf(value) == channel then
    redis.call('DEL', lock)
    callNext(lock, queue)
  end
  return 1
end
