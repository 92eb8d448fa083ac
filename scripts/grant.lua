-- grant: what a fresh acquisition does with a lock that is free.

-- grant counts, and gives the lock to the owner. Replies the grant number, or an error: see acquire.
local function grant(lock, fence, owner, ttl, waited)
  local number = redis.pcall('INCR', fence)
  if type(number) == 'table' or number <= 1 or number > maxCounter then
    return more().counts().lost(fence, number)
  end
  redis.call('SET', lock, string.format('%s 1 %d %s', owner, number, waited), 'PX', ttl)
  return number
end

