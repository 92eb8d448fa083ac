-- fit: check whether this server may vote now. Only conditions that can change while the server runs are checked here. This file
-- precedes the scripts that use it.

-- section returns a section of INFO. (In Redis 6.0, INFO takes only one section.)
local function section(name)
  return redis.call('INFO', name)
end

-- field returns the value of a field of a section, or ''.
local function field(text, name)
  local _, colon = string.find(text, '\n' .. name .. ':', 1, true) -- a pattern tries each position, which takes longer
  return colon and string.match(text, '^[^\r\n]*', colon + 1) or ''
end

local replication = section('replication')

-- replicaID is the replication id that this server had as a replica; '' if it was no replica. Redis sets master_replid2 when a
-- replica is promoted, and forgets it when the process ends.
local replicaID = field(replication, 'master_replid2')
if not string.find(replicaID, '[^0]') then
  replicaID = ''
end

-- evictions is the number of keys that this process has evicted.
local evictions = tonumber(field(section('stats'), 'evicted_keys')) or 0

-- forgot returns why this server may lack data that its member had; nil if it lacks none. The arguments are fields of the
-- register.
local function forgot(evicted, replid2)
  if evictions > (tonumber(evicted) or 0) then
    return 'it evicted keys, and lacks data: it comes back as a new member'
  elseif replicaID ~= '' and replicaID ~= replid2 then
    return 'it was a replica for a while, and may lack data: it comes back as a new member'
  end
end

-- unfit returns why this server may not vote although it lacks no data, and the remedy; nil if it may vote.
local function unfit()
  local role, memory = field(replication, 'role'), section('memory')
  local policy, most = field(memory, 'maxmemory_policy'), field(memory, 'maxmemory')
  if role ~= 'master' then
    return 'its role is "' .. role .. '": give the primary\'s address'
  elseif policy ~= '' and policy ~= 'noeviction' and most ~= '' and most ~= '0' then
    return 'it may evict keys (maxmemory-policy ' .. policy .. '): set maxmemory-policy noeviction'
  end
end

-- weakened returns why a member that is durable by its table may not vote: a restart would lose its new grants. It returns nil
-- if the member may vote. The arguments are fields of the register.
local function weakened(durable, weak)
  if durable == 'yes' and (weak or field(section('persistence'), 'aof_enabled') == '0') then
    return 'its settings are not durable any more, and the table of members has it as durable: set them back, or wait until a quorum of the others has noted that'
  end
end

