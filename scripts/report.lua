-- report: what a server says of itself. Read only.
--
-- KEYS  1 the register
--
-- Replies an array of names and values: the fields of the register; and about the server as it is now, with names that begin with
-- a dot: .run, its run id; .unfit, why it may not vote; .weak, the same of a member that is durable by its table; .forgot, why it
-- lacks data; .replica, if it was a replica; .aof, '0' if it is off; .type, if the register is of another type than a hash.
local reply = {}
local function tell(name, value)
  reply[#reply + 1] = name
  reply[#reply + 1] = value or ''
end
for name, value in pairs(stored) do
  tell(name, value)
end
tell('.run', run)
tell('.unfit', unfit())
tell('.weak', stored.run == run and weakened(stored.durable, stored.weak) or '')
tell('.forgot', stored.id and stored.run == run and forgot(stored.evicted, stored.replid2) or '')
tell('.replica', replicaID)
tell('.type', stored.deployment == 'something else' and 'other' or '')
local persistence = section('persistence')
local rewriting = field(persistence, 'aof_rewrite_in_progress') ~= '0' or field(persistence, 'aof_rewrite_scheduled') ~= '0'
tell('.aof', field(persistence, 'aof_enabled') == '0' and 'off' or rewriting and 'rewriting' or loadedAOF() and 'loaded' or 'on')
return reply
