-- survey: tell what a server that may not vote has, and note since when it may not.
--
-- KEYS  1 admitted   2… the counters of all buckets
-- ARGV  1 "yes" if every write is on disk before it is answered (appendfsync always), "no", or "unknown"
--       2 "note", or "look": then nothing is written, and since when may be now each time
--
-- Replies an array: run id, what admitted says, now (ms), since when it may not vote (ms), and the counters in
-- the order of the keys, 0 for those that are lost or corrupt.
--
-- Invariants: nothing that says that data was lost is taken back. Since is the moment from which nothing that was
-- lost can have been granted: a lost counter has its own, and the latest counts. A clock that was set back since makes
-- that a moment to come: then it is now, and from now on.
local info = redis.call('INFO', 'server') .. redis.call('INFO', 'replication')
local run = string.match(info, 'run_id:(%x+)')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local note = ARGV[2] == 'note'

local admitted = redis.pcall('GET', KEYS[1]) or ''
if type(admitted) == 'table' then
  if not string.find(admitted.err, 'wrong kind of value', 1, true) then
    return admitted
  end
  admitted = 'corrupt'
end
local before, policy = string.match(admitted, '^in (%x+) %d+ %d+ (%a+)$')
local waiting, since = string.match(admitted, '^out (%x+) (%d+)$')
if before == run then
  since = 0
  if note and policy == 'yes' and ARGV[1] == 'no' then -- it was set since it was admitted
    redis.call('SET', KEYS[1], (string.gsub(admitted, 'yes$', 'no')))
  end
elseif waiting == run and tonumber(since) <= now then
  since = tonumber(since)
else
  since = now
  -- One that was a replica may lack what its master wrote last, however durable both are, and may have been one until
  -- this moment.
  local was_replica = string.find(string.match(info, 'master_replid2:(%x+)') or '0', '[^0]')
  if before and policy == 'yes' and ARGV[1] == 'yes' and not was_replica then
    since = 0 -- it restarted, and forgot nothing
  elseif (before or waiting) and waiting ~= run and not was_replica then
    -- It restarted with something to remember, at the start of this process.
    since = now - 1000 * (string.match(info, 'uptime_in_seconds:(%d+)') or 0)
  end
  if note then
    redis.call('SET', KEYS[1], string.format('out %s %.0f', run, since))
  end
end

local reply = {run, admitted, string.format('%.0f', now), 0}
for first = 2, #KEYS, 512 do -- unpack has a limit
  local counters = redis.call('MGET', unpack(KEYS, first, math.min(first + 511, #KEYS)))
  local missing = {}
  for i, counter in ipairs(counters) do
    if not valueOf(counter) then
      local noted = lostSince(counter)
      if not noted or noted > now then
        noted = now
        missing[#missing + 1] = KEYS[first + i - 1]
        missing[#missing + 1] = string.format('%s %.0f', string.match(counter or 'lost', '^lost') or 'corrupt', now)
      end
      since = math.max(since, noted)
      counter = '0'
    end
    reply[2 + first + i] = counter
  end
  if note and #missing > 0 then
    redis.call('MSET', unpack(missing))
  end
end
reply[4] = string.format('%.0f', since)
return reply
