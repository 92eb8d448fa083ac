-- verify: tell whether the holder with this token holds here. Read only.
--
-- KEYS  1 lock
-- ARGV  1 token
--
-- Replies 1, yes; 0, no. On a quorum of masters the current holder's token is the grant number, or was written beside
-- it by confirm.
local held = redis.call('HMGET', KEYS[1], 'grant', 'token')
if (held[2] or held[1]) == ARGV[1] then
  return 1
end
return 0
