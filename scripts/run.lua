-- run: the operations that many batches have, though not most. It stands behind all that they need.

-- refused replaces an operation that needs a vote which this master does not have. The first refusal of a batch has what the
-- client has to know of the version that this master has accepted.
local function refused()
  if refusal then
    return false, refusal
  end
  local accepted = redis.call('HMGET', KEYS[1], 'version', 'learned', 'table')
  refusal = 'VERSION'
  return false, string.format('VERSION %s %s %s', accepted[1] or '-', accepted[2] and 'learned' or 'accepted', accepted[3] or '')
end

-- run runs the operation whose keys begin at k and whose name stands at a. Replies what it replied, and where the next
-- one begins.
local function run(operation, k, a)
  local _, reply
  local voted = votes and pcall or refused -- for those that need a vote
  if operation == 'enqueue' then
    _, reply = voted(enter, KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3],
      ARGV[a + 1], '1', ARGV[a + 2], ARGV[a + 3], ARGV[a + 4], KEYS[k + 4], ARGV[a + 5], ARGV[a + 6])
    k, a = k + 5, a + 7
  elseif operation == 'extend' then
    _, reply = voted(extend, KEYS[k], ARGV[a + 1], ARGV[a + 2])
    k, a = k + 1, a + 3
  else
    reply, k, a = rest().run(operation, k, a, voted)
  end
  return reply, k, a
end

return {run = run, contend = contend, callNext = callNext, counts = counts, rest = rest}
