-- release: release a lock in the usual case: the owner holds it for writing. unlock.lua has all cases, with replies and invariants.
--
-- Keys       lock, queue
-- Arguments  owner
local value = redis.pcall('GET', lock)
if value and not value.err and string.find(value, owner .. ' ', 1, true) == 1 then
  reply = redis.pcall('DEL', lock)
  if reply == 1 and string.byte(value, -1) == 43 then -- '+'
    reply = {lock = lock, queue = queue} -- call the next
  end
end
