-- lost: what a master does when a counter is missing or corrupt.

-- counterAt returns a bucket's counter; nil when it is missing, of another type or out of range. An error reply of the server
-- is raised as an error, because it shows nothing about the counter. (GET fails if the key has another type; MGET does not.)
local function counterAt(fence)
  return valueOf(redis.call('MGET', fence)[1])
end

-- lost ends the membership if the counter was lost, and replies the error. number is the reply of the INCR that came before; nil if
-- there was none. Counters start far above 1, so a counter that is at 1 now was lost. A counter that is not a number, or is out of
-- range, was overwritten. A master that lost a counter lost data: it is no longer a member. It votes again under a new id, with
-- the counters of a quorum.
local function lost(fence, number)
  if type(number) == 'table' then
    if counterAt(fence) then
      return number -- refused: for example, out of memory
    end
  elseif number and number <= 1 then
    redis.pcall('DEL', fence) -- otherwise the counter would go on from 1 if the server refuses the writes of disown
  end
  votes = false
  return disown(fence)
end

