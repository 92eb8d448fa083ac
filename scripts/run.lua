-- run: the operations that are neither usual (batch.lua) nor rare (rest.lua). It comes after the functions that these operations
-- need.

-- refused is called instead of an operation that needs a vote, if this master is unfit, or does not vote at the header's version.
-- In the latter case, the first refusal of a batch carries the version and the table that this master has accepted.
local function refused()
  if refusal then
    return false, refusal
  end
  local accepted = redis.call('HMGET', KEYS[1], 'version', 'learned', 'table')
  refusal = 'VERSION'
  return false, string.format('VERSION %s %s %s', accepted[1] or '-', accepted[2] and 'learned' or 'accepted', accepted[3] or '')
end

-- run runs the operation ARGV[a], whose keys begin at KEYS[k]. Returns its reply, and the k and a of the next operation.
local function run(operation, k, a)
  local _, reply
  local voted = votes and pcall or refused -- runs the operations that need a vote
  -- dispatch: enqueue extend acquire
  else
    reply, k, a = rest().run(operation, k, a, voted)
  end
  return reply, k, a
end

return {run = run, callNext = callNext, counts = counts}
