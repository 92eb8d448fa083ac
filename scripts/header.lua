-- header: what holds for all operations of a batch. It stands before them.
--
-- KEYS  1 the register (see member.lua)
-- ARGV  1 '<member>@<version>': the id of the member that the batch is for, and the version that the client knows; without a
--         version if no operation of the batch needs one
--
-- A batch that is for another member fails as a whole, with NOTMEMBER: what led it here may lead the next one elsewhere.

local register = redis.call('HMGET', KEYS[1], 'votes', 'looked', 'durable')

-- votes reports whether this master votes at the version of the batch: only then it runs operations that need a vote.
local votes = register[1] == ARGV[1]

-- refusal is what operations that need a vote reply although this master votes at their version. See look.lua.
local refusal

-- mustLook is the time, ms, if it is time to look; else nil. A durable member whose AOF is off looks at once: it must not grant
-- what it forgets.
local mustLook
if votes then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local since = now - (tonumber(register[2]) or 0)
  if since < 0 or since >= lookEvery -- a clock that was set back makes the last look one to come
    or register[3] == 'yes' and not string.find(redis.call('INFO', 'persistence'), 'aof_enabled:1', 1, true) then
    mustLook = now
  end
elseif redis.call('HGET', KEYS[1], 'id') ~= string.match(ARGV[1], '^(.*)@') then
  return redis.error_reply('NOTMEMBER the batch is for another member')
end

-- more returns the operations and functions that a batch does not always need: each function that a script defines costs
-- a master time whenever the script runs. They are defined when a batch first needs them. See batch.lua.
local more

-- unfinished has the keys of the locks for which the steps of the batch ended before all was done: see queue.lua.
local unfinished

