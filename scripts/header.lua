-- header: what holds for all operations of a batch. It stands before them.
--
-- ARGV  1 the longest ttl of the deployment, ms
local maxTTL = tonumber(ARGV[1])

