-- look: a master checks whether it may vote. A batch does so before its operations if the last look that found the master fit
-- is at least lookEvery ms ago, or if the master is durable by its table and its AOF is off.
--
-- An operator can make a server unfit to vote while clients are connected. The master refuses to vote from its next look on.
-- Until this look, for lookEvery ms at most, the master may still grant. A master that evicted keys, or was a replica, has lost
-- data: it is no longer a member.
--
-- A client sends a batch at a version only if it knows that the version is committed. So the look also records that this
-- version is committed.
local is = redis.call('HMGET', KEYS[1], 'evicted', 'replid2', 'durable', 'weak', 'run', 'learned')
if field(section('server'), 'run_id') ~= is[5] then
  return redis.error_reply('NOTMEMBER it restarted') -- a proxy kept the connection
end
local why = forgot(is[1], is[2])
if why then
  redis.call('HDEL', KEYS[1], 'votes', 'id')
  return redis.error_reply('NOTMEMBER ' .. why)
end
why = unfit()
if not why then
  why = weakened(is[3], is[4])
  if why and not is[4] then
    redis.pcall('HSET', KEYS[1], 'weak', 'yes') -- an AOF that is switched on again is complete only after its first rewrite
  end
end
if why then
  votes, refusal = false, 'UNFIT ' .. why
else
  redis.set_repl(redis.REPL_NONE) -- the AOF and the replicas do not need these fields
  redis.pcall('HSET', KEYS[1], 'looked', string.format('%.0f', mustLook), 'evicted', evictions) -- CONFIG RESETSTAT may have reset evictions
  redis.set_repl(redis.REPL_ALL)
  if not is[6] then
    redis.pcall('HSET', KEYS[1], 'learned', string.format('%.0f', mustLook))
  end
end
