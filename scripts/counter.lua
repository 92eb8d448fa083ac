-- counter: shared by confirm, repair, counters, sync and lost. It precedes each of them. maxCounter is defined before it.

-- valueOf returns the number in the text of a bucket's counter. It returns nil if the counter is missing or out of range:
-- then the master has forgotten its grants in that bucket.
local function valueOf(counter)
  local value = tonumber(counter and string.match(counter, '^[1-9]%d*$') or 'none')
  return value and value <= maxCounter and value or nil
end

-- disown ends the membership of a master that lost a counter. Replies the error.
local function disown(fence)
  redis.call('HDEL', KEYS[1], 'votes', 'id')
  return redis.error_reply('NOTMEMBER the fencing counter ' .. fence .. ' is missing or corrupt')
end

