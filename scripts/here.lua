-- here: publish this server's member id to a channel. A subscription that receives this message leads to this member.
--
-- KEYS  1 the register
-- ARGV  1 the channel
--
-- Replies the number of receivers. Errors: NOPERM, the user may not publish, or the server has no PUBLISH.
local reply = redis.pcall('PUBLISH', ARGV[1], 'here ' .. (redis.call('HGET', KEYS[1], 'id') or ''))
if type(reply) == 'table' then
  return redis.error_reply('NOPERM PUBLISH failed: ' .. reply.err)
end
return reply
