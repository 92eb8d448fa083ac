-- linger: the holder is through with the lock, which stays taken for a while: see WithHoldAtLeast.
--
-- Keys       lock, gone (mark of this owner), queue
-- Arguments  owner
--            ttl   for which it stays, ms: longer or shorter than what was left
--            mark  ttl of the gone mark, ms; 0: no mark
--
-- Replies 1, it stays, also if this is a second copy; 0, nobody has the lock; -1, another has it, or it is kept for one.
--
-- Invariants: never takes a lock from anybody. What stays is nobody's: it grants, confirms, extends and verifies nothing,
-- and ends by its ttl.
local function linger(lock, gone, queue, owner, ttl, mark)
  if mark ~= '0' then
    redis.call('SET', gone, '', 'PX', mark)
  end
  local value = valueAt(lock)
  if value and string.find(value, '- ' .. owner .. ' ', 1, true) == 1 then
    return 1
  elseif not isOwner(value, owner) then
    return value and -1 or 0
  end
  local _, _, grant, token = read(value)
  redis.call('SET', lock, string.format('- %s %s %s', owner, grant, token), 'PX', ttl)

  -- Those that wait believe that it is held, for longer as a rule, and nobody calls when it ends. The first two that
  -- hear are called in vain now, in case one of them is stopped: they ask, and are told when it ends.
  tell(lock, queue, 2)
  return 1
end
