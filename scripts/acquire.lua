-- acquire: enter the lock, fresh, without waiting. It is the usual case of enter; enter.lua has its replies and invariants. Most
-- locks that are asked for have no lock, no mark and no queue.
--
-- Keys       lock, fence, gone (mark of this owner), queue
-- Arguments  owner, ttl (ms), seen (see grant.lua)
local function acquire(lock, fence, gone, queue, owner, ttl, seen)
  if redis.call('EXISTS', lock, gone, queue) == 0 then
    return grant(lock, fence, owner, ttl, '', seen)
  end
  return more().contend(lock, fence, gone, queue, owner, '1', ttl, '', '', nil, nil, seen)
end
