-- lost: what is done when a counter is missing or corrupt.

-- counterAt reads a bucket's counter; nil when it is missing, of another type or out of range. What the server refuses is
-- raised: an error tells nothing of the counter. (GET fails on another type. MGET does not.)
local function counterAt(fence)
  return valueOf(redis.call('MGET', fence)[1])
end

-- lost replies the error. number is what the INCR brought that found it; nil if there was none. Counters start far above 1:
-- one that is at 1 now was lost, and one that is no number or out of range was overwritten. A master that lost one counter is
-- one that lost data: it is no member any more, and votes again under a new id, when its counters are those of a quorum.
local function lost(fence, number)
  if type(number) == 'table' then
    if counterAt(fence) then
      return number -- it was refused: out of memory, say
    end
  elseif number and number <= 1 then
    redis.pcall('DEL', fence) -- else it counts on from there, should the server refuse to disown itself
  end
  votes = false
  return disown(fence)
end

