-- leave: who waited does not any more, or was called and does not come.
--
-- Keys       lock, line
-- Arguments  who
--
-- Replies 1.
--
-- Invariants: frees nothing that is owned.
local function leave(lock, line, who)
  redis.call('ZREM', line, who)
  if redis.call('HGET', lock, 'next') == who then
    redis.call('DEL', lock)
    callUp(lock, line)
  end
  return 1
end
