-- run: the operations that are not run by batch.lua itself. It stands behind all of them.

-- refuse passes over an operation that needs a version, and is nil for one that does not.
local function refuse(operation, k, a)
  local keys = ({acquire = 4, enqueue = 4, reenter = 4, confirm = 2, extend = 1, repair = 3, verify = 1})[operation]
  if not keys then
    return nil
  end
  local arguments = ({acquire = 2, enqueue = 4, reenter = 3, confirm = 3, extend = 2, repair = 4, verify = 1})[operation]
  return 'VERSION ' .. (redis.call('HGET', KEYS[1], 'version') or ''), k + keys, a + 1 + arguments
end

-- run runs the operation whose keys begin at k and whose name stands at a. Replies what it replied, and where the next
-- one begins.
local function run(operation, k, a)
  local _, reply
  if not votes then
    local refused, nextKey, nextWord = refuse(operation, k, a)
    if refused then
      return refused, nextKey, nextWord
    end
  end
  if operation == 'extend' then
    _, reply = pcall(extend, KEYS[k], ARGV[a + 1], ARGV[a + 2])
    k, a = k + 1, a + 3
  elseif operation == 'enqueue' then
    _, reply = pcall(enter, KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3],
      ARGV[a + 1], '1', ARGV[a + 2], ARGV[a + 3], ARGV[a + 4])
    k, a = k + 4, a + 5
  elseif operation == 'pass' then
    _, reply = pcall(unlock, KEYS[k], nil, KEYS[k + 1], ARGV[a + 1], '0', '0', ARGV[a + 2], '')
    k, a = k + 2, a + 3
  elseif operation == 'confirm' then
    _, reply = pcall(confirm, KEYS[k], KEYS[k + 1], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3])
    k, a = k + 2, a + 4
  elseif operation == 'undo' then
    _, reply = pcall(unlock, KEYS[k], KEYS[k + 1], KEYS[k + 2], ARGV[a + 1], '0', ARGV[a + 2], ARGV[a + 3], ARGV[a + 4])
    k, a = k + 3, a + 5
  elseif operation == 'leave' then
    _, reply = pcall(leave, KEYS[k], KEYS[k + 1], ARGV[a + 1])
    k, a = k + 2, a + 2
  elseif operation == 'reenter' then
    _, reply = pcall(enter, KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3],
      ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], '', '')
    k, a = k + 4, a + 4
  elseif operation == 'exit' then
    _, reply = pcall(unlock, KEYS[k], nil, nil, ARGV[a + 1], ARGV[a + 2], '0', '', '')
    k, a = k + 1, a + 3
  elseif operation == 'repair' then
    _, reply = pcall(repair, KEYS[k], KEYS[k + 1], KEYS[k + 2], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4])
    k, a = k + 3, a + 5
  else -- verify
    _, reply = pcall(verify, KEYS[k], ARGV[a + 1])
    k, a = k + 1, a + 2
  end
  return reply, k, a
end

return {run = run, contend = contend, callNext = callNext, lost = lost}
