-- linger: end a hold, and keep its lock taken for a while: see WithHoldAtLeast.
--
-- Keys       lock, gone (mark of this owner), queue
-- Arguments  owner
--            ttl   of the lingering lock, ms: may be longer or shorter than the remaining ttl
--            mark  ttl of the gone mark, ms; 0: no mark
--
-- Replies 1, the lock lingers (a second copy of the request replies 1 too); 0, the lock is free; -1, another owner has it, or it
-- is kept for a waiter.
--
-- Invariants: never takes a lock from its owner. A lingering lock has no owner: it grants, confirms, extends and verifies
-- nothing, and ends by its ttl.
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
  local _, grant, token = read(value)
  redis.call('SET', lock, string.format('- %s %s %s', owner, grant, token), 'PX', ttl)

  -- Most refused waiters expect a later end of the lock than its new end, and nobody calls them when a lingering lock ends. So
  -- the first two waiters get a notice now, although the lock is not free: they ask again, and the refusal has the new end. (Two,
  -- because one of them may be a stopped process.)
  notify(lock, queue, 2)
  return 1
end
