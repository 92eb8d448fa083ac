-- queue: what acquire, release and leave share. It stands before each of them.
--
-- Those that wait for a lock stand in a sorted set, by ticket; a member is the channel on which its client hears. A
-- lock that is free while somebody waits is kept for the first of them. Nobody owns it then and it grants nothing, so
-- no rule of exclusion or of tokens rests on it.

-- A queue outlasts the last word of those in it by queueTTL, in ms, which stands before this file.

-- keep keeps a free lock for one that waits, for as long as a caller may take to come.
local function keep(lock, channel)
  redis.call('SET', lock, ' ' .. channel, 'PX', 200)
end

-- callNext calls the first in the queue that can be told, and keeps the lock for it. Who was called has left the queue.
-- The one behind it is told to stand by, in case the first does not come (its process was stopped, say). Replies whether
-- there was anybody.
local function callNext(lock, queue)
  while true do
    local first = redis.call('ZRANGE', queue, 0, 0)[1]
    if not first then
      return false
    end
    redis.call('ZREM', queue, first)
    local told = redis.pcall('PUBLISH', first, lock)
    if type(told) == 'number' and told > 0 then
      keep(lock, first)
      local second = redis.call('ZRANGE', queue, 0, 0)[1]
      if second then
        redis.pcall('PUBLISH', second, 'standby ' .. lock)
      end
      return true
    end
  end
end

