-- inspect: reply the state of a lock. Read only.
--
-- KEYS  1 the register   2 the lock   3 its queue
--
-- Replies an array: '<id>@<version>', this member and the version at which it votes, or '' if it does not vote; the value of the
-- lock (see lock.lua), or '' if there is none; the lock's PTTL, ms; the number of waiting clients; then, for each of up to 100
-- readers (see readers.lua), the reader's owner id and its remaining ms.
local value = redis.call('MGET', KEYS[2])[1]
local texts = {isIntact(stored.id) and stored.votes or '', value or '', tostring(redis.call('PTTL', KEYS[2])),
  tostring(redis.call('ZCARD', KEYS[3]))}
if not value then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local readers = redis.call('ZRANGE', KEYS[2], -100, -1, 'WITHSCORES')
  for i = 1, #readers, 2 do
    if tonumber(readers[i + 1]) > now then
      texts[#texts + 1] = readers[i]
      texts[#texts + 1] = string.format('%.0f', readers[i + 1] - now)
    end
  end
end
return texts
