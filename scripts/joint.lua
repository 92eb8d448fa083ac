-- joint: one of several fresh acquisitions that stand one behind the other in a batch. All of them are granted, or none.
--
-- Keys       lock, fence, gone (mark of this owner), queue
-- Arguments  owner, ttl (ms), group (of the first one: how many they are; of the others: 0)
--
-- Replies as enter does for its own lock, which never waits; 0, the lock is free, or nobody's for long, but another one of
-- the group is not, or the group is not whole.
--
-- Invariants: as enter's, for each lock by itself: no rule of exclusion or of tokens rests on the group. A lock is not
-- taken before those who wait for it.
local grantable, left = false, 0 -- of the group under way, and how many of its operations are to come

-- look reports whether the group of n that begins at k and a is whole, and each of its locks is free or the owner's.
local function look(k, a, n)
  local keys = {}
  for i = 0, n - 1 do
    if ARGV[a + 4 * i] ~= 'joint' or i > 0 and ARGV[a + 4 * i + 3] ~= '0' then
      return false
    end
    keys[3 * i + 1], keys[3 * i + 2], keys[3 * i + 3] = KEYS[k + 4 * i], KEYS[k + 4 * i + 2], KEYS[k + 4 * i + 3]
  end
  if redis.call('EXISTS', unpack(keys)) == 0 then
    return true
  end
  for i = 0, n - 1 do
    local lock, gone, queue = keys[3 * i + 1], keys[3 * i + 2], keys[3 * i + 3]
    local value = valueAt(lock)
    if value and not isOwner(value, ARGV[a + 4 * i + 1]) then
      return false
    elseif not value and (shared().sweep(lock) or redis.call('EXISTS', gone) == 1 or callNext(lock, queue)) then
      return false
    end
  end
  return true
end

-- joint takes where its keys begin and its name stands, because the first one looks at those behind it.
local function joint(k, a)
  local group = tonumber(ARGV[a + 3])
  if group > 0 then
    grantable, left = look(k, a, group), group
  end
  grantable, left = grantable and left > 0, left - 1
  if not grantable and redis.call('EXISTS', KEYS[k]) == 0 then
    return 0
  end
  return enter(KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], ARGV[a + 1], '1', ARGV[a + 2], '', '')
end
