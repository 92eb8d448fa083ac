-- lost: what is done when a counter is missing or corrupt.

-- lost replies the error. Counters start far above 1: one that is at 1 now was lost, and one that is no number or out of
-- range was overwritten. A master that lost one counter is one that lost data: it is no member any more, and votes again
-- under a new id, when its counters are those of a quorum.
local function lost(fence, number)
  if type(number) == 'table' and not (string.find(number.err, 'not an integer', 1, true)
    or string.find(number.err, 'overflow', 1, true) or string.find(number.err, 'WRONGTYPE', 1, true)) then
    return number -- out of memory, say
  end
  votes = false
  return disown(fence)
end

