-- learn: note that a version is committed, and accept its table if the member has not accepted it. Only a client with evidence
-- of the commit may send this.
--
-- KEYS  1 the register
-- ARGV  1 the member's id   2 the version   3 the table   4 the deployment
--
-- Replies how long the member has known that the version is committed, ms by its own clock; -1 if it has a higher version.
-- Errors: NOTMEMBER, the data is another member's or another deployment's, or the table does not concern the member.
--
-- Invariants: the version never goes down. If the stored time of learning is in the future, because the clock was set back, the
-- present time replaces the stored time.
if not isIntact(ARGV[1]) or stored.deployment ~= ARGV[4] or not concerns(ARGV[3], ARGV[1]) then
  return redis.error_reply('NOTMEMBER its data is not that of this member')
end
local time = now()
if stored.version ~= ARGV[2] then
  if stored.version and above(stored.version, ARGV[2]) then
    return -1
  end
  local promised = stored.promised
  take(ARGV[2], ARGV[3])
  if promised and above(promised, ARGV[2]) then
    redis.call('HSET', KEYS[1], 'promised', promised)
  end
  stored.learned = nil
end
if not stored.learned or tonumber(stored.learned) > time then
  redis.call('HSET', KEYS[1], 'learned', string.format('%.0f', time))
  return 0
end
return time - tonumber(stored.learned)
