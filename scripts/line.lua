-- line: what acquire, release and leave share. It stands before each of them.
--
-- Those that wait for a lock stand in a sorted set, by ticket; a member is the channel on which its client hears. A
-- lock that is free while somebody waits is kept for the first of them: a hash with nothing in it but 'next'. It grants
-- nothing and nobody owns it, so no rule of exclusion or of tokens rests on it.

-- A line outlasts the last word of those in it by so many ms.
local lineTTL = 15000

-- callUp calls the first in line that can be told, and keeps the lock for that one as long as a caller may take to
-- come. Who was called has left the line. The one behind it is told to stand by, in case the first does not come (its
-- process was stopped, say). Replies whether there was anybody.
local function callUp(lock, line)
  while true do
    local first = redis.call('ZRANGE', line, 0, 0)[1]
    if not first then
      return false
    end
    redis.call('ZREM', line, first)
    local told = redis.pcall('PUBLISH', first, lock)
    if type(told) == 'number' and told > 0 then
      redis.call('HSET', lock, 'next', first)
      redis.call('PEXPIRE', lock, 200)
      local second = redis.call('ZRANGE', line, 0, 0)[1]
      if second then
        redis.pcall('PUBLISH', second, 'standby ' .. lock)
      end
      return true
    end
  end
end

