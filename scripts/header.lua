-- header: what holds for all operations of a batch. It stands before them.
--
-- ARGV  1 the longest ttl of the deployment, ms
local maxTTL = tonumber(ARGV[1])

-- more returns the operations and functions that a batch does not always need: each function that a script defines costs
-- a master time whenever the script runs. They are defined when a batch first needs them. See batch.lua.
local more

