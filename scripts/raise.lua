-- raise: what confirm, repair and know share. It stands before each of them.

-- raise brings the bucket's counter to the token, if it is lower: it never falls. Replies the error that the counter is
-- missing or corrupt, or nil.
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
