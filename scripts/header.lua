-- header: common to all operations of a batch. It precedes them.
--
-- KEYS  1 the register (see member.lua)
-- ARGV  1 '<member>@<version>': the id of the member that the batch is for, and the version that the client uses; the version is
-- '' if no operation of the batch needs it
--
-- A batch for another member fails as a whole, with NOTMEMBER. Each batch is checked, because the master's address may lead to
-- another server than at the previous batch.

local register = redis.call('HMGET', KEYS[1], 'votes', 'looked', 'durable')

-- votes is true if this master votes at the version of the batch. Otherwise, operations that need a vote are refused.
local votes = register[1] == ARGV[1]

-- refusal, if set, is the reply to operations that need a vote. look.lua sets it if this master is unfit to vote.
local refusal

-- mustLook is this master's time, ms, if a look (look.lua) is due; else nil. For a durable member whose AOF is off, a look is
-- always due, because a restart would lose the member's grants.
local mustLook

-- time is the reply of TIME at the beginning of the batch if this master votes; else false.
local time = votes and redis.call('TIME')
if votes then
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local since = now - (tonumber(register[2]) or 0)
  if since < 0 or since >= lookEvery -- after a clock was set back, the last look is in the future
    or register[3] == 'yes' and not string.find(redis.call('INFO', 'persistence'), 'aof_enabled:1', 1, true) then
    mustLook = now
  end
elseif redis.call('HGET', KEYS[1], 'id') ~= string.match(ARGV[1], '^(.*)@') then
  return redis.error_reply('NOTMEMBER the batch is for another member')
end

-- more is a table of the functions that not every batch needs. Each function that a script defines costs a master time whenever
-- the script runs. So a batch defines these functions only when it needs them: see batch.lua.
local more

-- unfinished has the keys of the locks for which the batch had no steps left (see queue.lua); nil if there are none.
local unfinished

