-- counter: what confirm, repair, counters, sync and lost share. It stands before each of them, and maxCounter before it.

-- valueOf reads the text of a bucket's counter. It is nil when that is missing or out of range: then the master
-- has forgotten what it granted there.
local function valueOf(counter)
  local value = tonumber(counter and string.match(counter, '^[1-9]%d*$') or 'none')
  return value and value <= maxCounter and value or nil
end

-- disown makes a master that lost a counter no member any more: it has lost data. Replies the error.
local function disown(fence)
  redis.call('HDEL', KEYS[1], 'votes', 'id')
  return redis.error_reply('NOTMEMBER the fencing counter ' .. fence .. ' is missing or corrupt')
end

