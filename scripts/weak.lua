-- weak: note that the settings of a durable member are not durable any more, so that it does not vote; or clear that note.
-- If the note is lost when the process ends, no grant is lost with it: the member granted nothing while the note was set.
--
-- KEYS  1 the register
-- ARGV  1 the member's id   2 'yes' or 'no'
--
-- Replies 1. Errors: NOTMEMBER, the data is another member's.
if not isIntact(ARGV[1]) then
  return redis.error_reply('NOTMEMBER its data is not that of this member')
elseif ARGV[2] == 'yes' then
  redis.call('HSET', KEYS[1], 'weak', 'yes')
else
  redis.call('HDEL', KEYS[1], 'weak')
end
redis.call('HDEL', KEYS[1], 'looked')
return 1
