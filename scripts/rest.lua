-- rest: the operations that neither batch.lua nor run.lua runs. It comes after the functions that these operations need.

-- runRest runs these operations, and returns the same as the function run in run.lua. It calls an operation that needs a vote
-- through the parameter voted.
local function runRest(operation, k, a, voted)
  local _, reply
  -- dispatch: pass confirm undo linger leave reenter release repair share stay know restore verify
  else
    return 'ERR no such operation: ' .. operation, #KEYS + 1, #ARGV + 1 -- the operations after it cannot be parsed
  end
  return reply, k, a
end

return {run = runRest}
