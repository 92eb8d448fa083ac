-- rights: find out which Redis commands of the scripts cannot run here, because the user lacks the right or the server lacks the
-- command. Without this check, such a command could fail in the middle of an operation.
--
-- KEYS  1 the register   2 a key that does not exist
--
-- Replies the names of these commands; '' if all can run. The script fails if the user may not use the keys. (PUBLISH is not
-- checked: without it locks work, and waiters poll.)
--
-- Invariants: stored data is the same afterwards, and on a member nothing is written: each command finds nothing to do, or fails.
-- Texts of refusals differ between Redis versions, so they are not compared. A command that can run fails here only because of
-- the server's state (OOM, MISCONF, READONLY …), the key's type (WRONGTYPE), or the number of arguments. Only the last has the
-- code ERR: any other ERR means that the server lacks the command.
local key, lacks = KEYS[2], {}

local function try(...)
  local reply = redis.pcall(...)
  local why = type(reply) == 'table' and reply.err
  if why then
    why = string.gsub(why, '^@user_script: %d+: %-?', '') -- Redis 6 prefixes the position
    local code = string.match(why, '^(%u+) ') or 'ERR'
    if code == 'NOPERM' or code == 'ERR' and not string.find(why, 'wrong number of arg', 1, true) then
      lacks[#lacks + 1] = (...)
    end
  end
  return reply
end

try('DEL', key)
try('EXISTS', key)
try('GET', key)
try('HDEL', key, 'f')
try('HGET', key, 'f')
try('HMGET', key, 'f')
try('HSET', key, 'f', 'v', 'f') -- one argument is missing
try('INFO', 'server')
try('MGET', key)
try('MSET', key, 'v', key) -- one argument is missing
try('PEXPIRE', key, 1)
try('PEXPIREAT', key, 1)
try('PING')
try('PTTL', key)
try('SET', key, 'v', 'XX')
try('TIME')
try('ZADD', key, 'XX', 1, 'm')
try('ZCARD', key)
try('ZRANGE', key, 0, 0)
try('ZREM', key, 'm')
try('ZSCORE', key, 'm')
-- APPEND and INCR can create a key. So they run on the register, where they fail (a hash), or else on a key that expires at once.
local register = try('HGETALL', KEYS[1])
if not register.err and #register > 0 then
  try('APPEND', KEYS[1], '')
  try('INCR', KEYS[1])
elseif not redis.pcall('SET', key, '0', 'PX', 1).err then
  try('INCR', key)
  try('APPEND', key, '')
  redis.pcall('DEL', key)
end
return table.concat(lacks, ', ')
