-- raise: what confirm and repair share. It stands before each of them.

-- raise brings the bucket's counter to the token, if it is lower: it never falls. Replies the error that the counter is
-- missing, or nil.
local function raise(fence, token)
  local counter = tonumber(redis.call('GET', fence) or 'missing')
  if not counter then
    return redis.error_reply('NOTADMITTED the fencing counter ' .. fence .. ' is missing')
  end
  if counter < tonumber(token) then
    redis.call('SET', fence, token)
  end
end

