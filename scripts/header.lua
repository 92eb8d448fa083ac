-- header: what holds for all operations of a batch. It stands before them.
--
-- KEYS  1 the register (see member.lua)
-- ARGV  1 the version that the client knows; '' if no operation of the batch needs one

-- votes tells whether this master may vote at that version: only then it runs operations that need one.
local votes = redis.call('HGET', KEYS[1], 'votes') == ARGV[1]

-- more returns the operations and functions that a batch does not always need: each function that a script defines costs
-- a master time whenever the script runs. They are defined when a batch first needs them. See batch.lua.
local more

-- unfinished has the keys of the locks for which the steps of the batch ended before all was done: see queue.lua.
local unfinished

