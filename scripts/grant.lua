-- grant: grant a free lock to a fresh acquisition.

-- grant raises the counter, and writes the lock for the owner. Replies the grant number, or an error: see enter.lua. seen is the highest token
-- of the bucket that the client has seen. A counter that is not above it missed grants, and goes on from there: so the other
-- masters grant the same number, and no master has to confirm. A seen that is no number, or leaves no number above it, is ignored.
local function grant(lock, fence, owner, ttl, waited, seen)
  local number = redis.pcall('INCR', fence)
  if type(number) == 'table' or number <= 1 or number > maxCounter then
    return more().counts().lost(fence, number)
  end
  seen = tonumber(seen)
  if seen and number <= seen and seen < maxCounter then
    number = seen + 1
    redis.call('SET', fence, string.format('%d', number))
  end
  redis.call('SET', lock, string.format('%s 1 %d %s', owner, number, waited), 'PX', ttl)
  return number
end

