-- rest: the operations that neither batch.lua nor run.lua runs. It stands behind all that they need.

-- runRest is run (run.lua) for them. voted runs those that need a vote.
local function runRest(operation, k, a, voted)
  local _, reply
  if operation == 'pass' then
    _, reply = pcall(unlock, KEYS[k], nil, KEYS[k + 1], ARGV[a + 1], '0', '0', ARGV[a + 2], '')
    k, a = k + 2, a + 3
  elseif operation == 'confirm' then
    _, reply = voted(confirm, KEYS[k], KEYS[k + 1], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3])
    k, a = k + 2, a + 4
  elseif operation == 'undo' then
    _, reply = pcall(unlock, KEYS[k], KEYS[k + 1], KEYS[k + 2], ARGV[a + 1], '0', ARGV[a + 2], ARGV[a + 3], ARGV[a + 4], KEYS[k + 3])
    k, a = k + 4, a + 5
  elseif operation == 'linger' then
    _, reply = pcall(linger, KEYS[k], KEYS[k + 1], KEYS[k + 2], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3])
    k, a = k + 3, a + 4
  elseif operation == 'leave' then
    _, reply = pcall(leave, KEYS[k], KEYS[k + 1], KEYS[k + 2], ARGV[a + 1])
    k, a = k + 3, a + 2
  elseif operation == 'reenter' then
    _, reply = voted(enter, KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3],
      ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], '', '')
    k, a = k + 4, a + 4
  elseif operation == 'acquire' then -- batch.lua runs it itself where this master votes
    _, reply = voted()
    k, a = k + 4, a + 4
  elseif operation == 'exit' then
    _, reply = pcall(unlock, KEYS[k], nil, nil, ARGV[a + 1], ARGV[a + 2], '0', '', '')
    k, a = k + 1, a + 3
  elseif operation == 'repair' then
    _, reply = voted(repair, KEYS[k], KEYS[k + 1], KEYS[k + 2], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4])
    k, a = k + 3, a + 5
  elseif operation == 'share' then
    _, reply = voted(shared().share, KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3],
      ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4], KEYS[k + 4])
    k, a = k + 5, a + 5
  elseif operation == 'stay' then
    _, reply = voted(shared().turn, KEYS[k], KEYS[k + 1], ARGV[a + 1], ARGV[a + 2])
    k, a = k + 2, a + 3
  elseif operation == 'know' then
    _, reply = voted(shared().know, KEYS[k], ARGV[a + 1])
    k, a = k + 1, a + 2
  elseif operation == 'restore' then
    _, reply = voted(shared().restore, KEYS[k], KEYS[k + 1], KEYS[k + 2], ARGV[a + 1], ARGV[a + 2])
    k, a = k + 3, a + 3
  else -- verify
    _, reply = voted(verify, KEYS[k], ARGV[a + 1])
    k, a = k + 1, a + 2
  end
  return reply, k, a
end

return {run = runRest, unlock = unlock}
