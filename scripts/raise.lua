-- raise: shared by confirm, repair and know. It precedes each of them.

-- raise raises the bucket's counter to the token, if the counter is lower. Replies nil, or the error of a missing or corrupt
-- counter.
local function raise(fence, token)
  local counter = counterAt(fence)
  if not counter then
    return lost(fence)
  end
  if counter < tonumber(token) then
    redis.call('SET', fence, token)
  end
end

return {counterAt = counterAt, lost = lost, raise = raise}
