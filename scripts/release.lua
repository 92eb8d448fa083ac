-- release: leave the lock one level, or altogether.
--
-- Keys       lock, gone (mark of this owner), line
-- Arguments  owner
--            depth        left, absolute; 0 frees
--            mark         ttl of the gone mark, ms; 0: no mark
--            who, ticket  ''  , ''      the first in line is called
--                         who, ''      who's acquire follows on this connection: the lock is kept for it
--                         who, ticket  who gives back what it had in vain: it stands in line again, where it was
--
-- Replies 1, done; 0, nobody has the lock; -1, another has it, or it is kept for one.
--
-- Invariants: frees nobody else's lock. After a release with a mark, an acquire of this owner that is still
-- under way is refused. The mark is a key of its own, because a rival's lock may stand here now and be gone
-- when the late acquire comes.
local function release(lock, gone, line, owner, depth, mark, who, ticket)
  if mark ~= '0' then
    redis.call('SET', gone, '', 'PX', mark)
  end
  if redis.call('HGET', lock, 'owner') ~= owner then
    return -redis.call('EXISTS', lock)
  end
  if depth ~= '0' then
    redis.call('HSET', lock, 'depth', depth)
    return 1
  end
  redis.call('DEL', lock)
  if ticket ~= '' then
    redis.call('ZADD', line, ticket, who)
    redis.call('PEXPIRE', line, lineTTL)
  end
  if redis.call('EXISTS', line) == 1 then
    if who ~= '' and ticket == '' then
      redis.call('HSET', lock, 'next', who)
      redis.call('PEXPIRE', lock, 200)
    else
      callUp(lock, line)
    end
  end
  return 1
end
