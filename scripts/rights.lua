-- rights: tell which commands of the scripts the user may not run, before one of them fails in the middle of an operation.
--
-- KEYS  1 the register   2 a key that nobody has
-- ARGV  1 a channel that nobody hears
--
-- Replies their names, '' if it may run them all. The whole script fails if the user may not use the keys.
--
-- Invariants: it changes nothing: each command finds nothing to do, or fails for another reason than the user's rights.
local key, lacks = KEYS[2], {}

local function try(...)
  local reply = redis.pcall(...)
  local why = type(reply) == 'table' and reply.err or ''
  if string.find(why, 'NOPERM', 1, true) or string.find(why, 'user executing the script', 1, true) then
    local on = string.find(why, 'channel', 1, true) and ' to ' .. ARGV[1] .. '*' or ''
    lacks[#lacks + 1] = (...) .. on
  end
  return reply
end

try('DEL', key)
try('EXISTS', key)
try('GET', key)
try('HDEL', key, 'f')
try('HGET', key, 'f')
try('HSET', key, 'f', 'v', 'f') -- one word short
try('INFO', 'server')
try('MGET', key)
try('MSET', key, 'v', key) -- one word short
try('PEXPIRE', key, 1)
try('PEXPIREAT', key, 1)
try('PING')
try('PTTL', key)
try('PUBLISH', ARGV[1], '')
try('SET', key, 'v', 'XX')
try('TIME')
try('ZADD', key, 'XX', 1, 'm')
try('ZCARD', key)
try('ZRANGE', key, 0, 0)
try('ZREM', key, 'm')
try('ZREMRANGEBYSCORE', key, 0, 0)
try('ZSCORE', key, 'm')
-- Nothing keeps these two from making a key, but one of another type. A server without a register grants nothing.
local register = try('HGETALL', KEYS[1])
if not register.err and #register > 0 then
  try('APPEND', KEYS[1], '')
  try('INCR', KEYS[1])
end
return table.concat(lacks, ', ')
