-- raise: what confirm and repair share. It stands before each of them.

-- raise brings the bucket's counter to the token, if it is lower: it never falls. Replies the error that the counter is
-- missing or corrupt, or nil.
local function raise(fence, token)
  local counter = valueOf(redis.call('GET', fence))
  if not counter then
    return redis.error_reply('NOTADMITTED the fencing counter ' .. fence .. ' is missing or corrupt')
  end
  if counter < tonumber(token) then
    redis.call('SET', fence, token)
  end
end

