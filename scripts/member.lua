-- member: shared by the scripts of the register. It precedes each of them, and fit.lua precedes it.
--
-- A master's part of the register is one hash, so that all fields are lost together:
--
--   deployment  id of the deployment
--   id          of the member whose data this is; random, never used twice. Missing after a counter was lost
--   run         run id of the process that has this id; a later process may have older data
--   replid2     master_replid2 of INFO when the member got this id; '' for none. Redis sets it when a replica is promoted
--   evicted     how many keys the process had evicted when the member got this id, was adopted, or last found itself fit to vote
--   durable     'yes' if the accepted table has this member as durable: then it may keep its id when it restarts (adopt.lua)
--   weak        'yes' if the member is durable by its table, but not by its settings, and so does not vote; else missing
--   promised    the highest ballot that the member promised: it accepts no lower ballot
--   version     ballot of the table that the member accepted last
--   table       that table, as JSON
--   maxTTL      of that table, ms
--   votes       '<id>@<version>' if this member is voting in its table; else missing. header.lua compares it with ARGV[1]
--   looked      when a batch last found the member fit to vote, ms by its own clock: see look.lua
--   learned     when the member learned that the version is committed, ms by its own clock; else missing
--   synced      the version at which its counters were raised to those of a quorum; else missing
--   claim       the addresses of an init that is under way; else missing. A server with a claim has accepted no table
--   claimed     the ballot of that init
--   turn        the client whose turn it is to change the members, and until when, ms by this member's clock: see turn.lua
--   names:ID    the names by which clients reached the member with this id, one a line: see reached.lua
--
-- KEYS[1] is the key of the hash.
local stored = {}
do
  local all = redis.pcall('HGETALL', KEYS[1])
  if all.err and string.find(all.err, 'WRONGTYPE', 1, true) ~= 1 then
    return all -- the refusal proves nothing about the register
  elseif all.err then
    stored.deployment = 'something else' -- only an init by force takes it
  end
  for i = 1, #all, 2 do
    stored[all[i]] = all[i + 1]
  end
end
local run = field(section('server'), 'run_id')

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- above reports whether ballot a is above ballot b, or b is nil. It compares bytes, because '<' of Lua depends on the locale.
local function above(a, b)
  for i = 1, b and #a or 0 do
    local x, y = string.byte(a, i), string.byte(b, i) or 0
    if x ~= y then
      return x > y
    end
  end
  return not b
end

-- isIntact reports whether the server is the member with this id, and has all its data.
local function isIntact(id)
  return stored.id == id and stored.run == run and not forgot(stored.evicted, stored.replid2)
end

-- stateOfAOF returns 'off', 'rewriting', 'loaded' or 'on'. 'loaded' means that the AOF was on when this process started: so
-- the process has loaded all its data from the AOF.
local function stateOfAOF()
  local persistence = section('persistence')
  if field(persistence, 'aof_enabled') == '0' then
    return 'off'
  elseif field(persistence, 'aof_rewrite_in_progress') ~= '0' or field(persistence, 'aof_rewrite_scheduled') ~= '0' then
    return 'rewriting'
  end
  return field(persistence, 'aof_last_rewrite_time_sec') == '-1' and 'loaded' or 'on'
end

-- refuses returns an error if this server may not vote now, else nil. If the fields durable and weak are passed, it also returns
-- an error for a weakened member: such a member may not promise, accept or raise counters.
local function refuses(durable, weak)
  local why = unfit() or weakened(durable, weak)
  return why and redis.error_reply('UNFIT ' .. why)
end

-- become replaces the hash by the hash of a new member with this id.
local function become(deployment, id)
  if stored.deployment ~= 'something else' then
    redis.call('HSET', KEYS[1], 'looked', '0') -- if the server refuses this, nothing is lost yet
  end
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'deployment', deployment, 'id', id, 'run', run, 'evicted', evictions, 'replid2', replicaID)
end

-- stateOf returns the state of a member in a table, and whether the member is durable; nil if the table does not list it.
local function stateOf(tableText, id)
  for _, member in ipairs(cjson.decode(tableText).members) do
    if member.id == id then
      return member.state, member.durable
    end
  end
end

-- concerns reports whether the member is in the table, or was in the previous table.
local function concerns(tableText, id)
  for _, before in ipairs(cjson.decode(tableText).prev) do
    if before == id then
      return true
    end
  end
  return stateOf(tableText, id) ~= nil
end

-- take accepts a table under a ballot.
local function take(ballot, tableText)
  redis.call('HSET', KEYS[1], 'promised', ballot) -- if the server refuses this, nothing is lost yet
  redis.call('HDEL', KEYS[1], 'learned', 'votes', 'claim', 'claimed')
  local state, durable = stateOf(tableText, stored.id)
  redis.call('HSET', KEYS[1], 'version', ballot, 'table', tableText,
    'maxTTL', string.format('%.0f', cjson.decode(tableText).maxTTL), 'durable', durable and 'yes' or 'no')
  if state == 'voting' then
    redis.call('HSET', KEYS[1], 'votes', stored.id .. '@' .. ballot)
  end
end

