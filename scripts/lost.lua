-- lost: what grant does when the counter did not count.

-- lost replies the error. Counters start far above 1: one that is at 1 now was lost, and one that is no number or out of
-- range was overwritten. It must not start to count again by itself, and what it forgot may be in force yet: lost notes
-- since when, in a form that INCR refuses.
local function lost(fence, number)
  if type(number) == 'table' and not (string.find(number.err, 'not an integer', 1, true)
    or string.find(number.err, 'overflow', 1, true) or string.find(number.err, 'WRONGTYPE', 1, true)) then
    return number -- out of memory, say
  end
  local stands = redis.pcall('GET', fence)
  local mark = type(stands) == 'string' and string.match(stands, '^(%a+) %d+$')
  if not mark then
    mark = number == 1 and 'lost' or 'corrupt'
    local time = redis.call('TIME')
    redis.call('SET', fence, string.format('%s %.0f', mark, time[1] * 1000 + math.floor(time[2] / 1000)))
  end
  return redis.error_reply(string.format('NOTADMITTED the fencing counter %s is %s', fence,
    mark == 'lost' and 'missing' or string.format('corrupt: it was no number from 1 to %.0f', maxCounter)))
end

