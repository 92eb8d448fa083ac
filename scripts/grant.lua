-- grant: grant a free lock to a fresh acquisition: raise the counter, and write the lock for the owner. acquire.lua and
-- the function grant of queue.lua include this text.
--
-- Uses  lock, fence, owner, ttl, waited ('+' or ''), seen
-- Sets  reply: the grant number, or an error (see enter.lua); or a table with the arguments for the function lost (lost.lua):
--       fence, and the reply of the INCR (broken)
--
-- seen is the highest token of the bucket that the client has seen. If this counter is not above that token, the counter has
-- missed grants, and continues with the number after the token. Masters that missed no grant also give this number, and then no
-- master must confirm. The script ignores seen if it is not a number, or is the highest number.
reply = redis.pcall('INCR', fence)
if type(reply) == 'table' or reply <= 1 or reply > maxCounter then
  reply = {fence = fence, broken = reply}
else
  local number, seen, failed = reply, tonumber(seen), nil
  if seen and number <= seen and seen < maxCounter then
    number = seen + 1
    failed = redis.pcall('SET', fence, string.format('%d', number)).err
  end
  failed = failed or redis.pcall('SET', lock, string.format('%s %d %s', owner, number, waited), 'PX', ttl).err
  reply = failed and {err = failed} or number
end
