-- report: reply a server's state. Read only.
--
-- KEYS  1 the register
--
-- Replies an array of names and values: the fields of the register; and the server's current state, with names that begin with
-- a dot: .run, its run id; .unfit, why it may not vote; .weak, why a member that is durable by its table may not vote;
-- .forgot, why it lacks data; .replica, its replication id from when it was a replica; .aof, from stateOfAOF; .type, 'other' if
-- the register is not a hash; .known, for how many ms the server has known that its version is committed, by its own clock.
local reply = {}
local function add(name, value)
  reply[#reply + 1] = name
  reply[#reply + 1] = value or ''
end
for name, value in pairs(stored) do
  add(name, value)
end
add('.run', run)
add('.unfit', unfit())
add('.weak', stored.run == run and weakened(stored.durable, stored.weak) or '')
add('.forgot', stored.id and stored.run == run and forgot(stored.evicted, stored.replid2) or '')
add('.replica', replicaID)
add('.type', stored.deployment == 'something else' and 'other' or '')
add('.aof', stateOfAOF())
local time = stored.learned and redis.pcall('TIME') -- rights.lua names the right, if it is lacking
add('.known', time and not time.err and string.format('%.0f', now() - tonumber(stored.learned)))
return reply
