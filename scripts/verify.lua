-- verify: tell whether the holder with this token holds here. Read only.
--
-- Keys       lock
-- Arguments  token
--
-- Replies 1, yes; 0, no. On a quorum of masters the current holder's token is the grant number, or was written beside
-- it by confirm.
local function verify(lock, token)
  local held = redis.call('HMGET', lock, 'grant', 'token')
  if (held[2] or held[1]) == token then
    return 1
  end
  return 0
end
