-- stay: extend a reader's hold, re-enter it, or turn the owner's hold for writing into a hold for reading.
--
-- Keys       lock, queue
-- Arguments  owner, ttl (ms)
--
-- Replies the ms that the hold had left before the extension; -1, the lock is not this owner's.
--
-- Invariants: never creates a lock, never shortens a hold, changes no other reader's time. A writer becomes a reader in one step:
-- the lock is never free in between. After this step, the readers at the head of the queue are called.

-- stay extends the hold of an owner that reads already. The lock must not be a writer's (a string).
local function stay(lock, owner, ttl)
  if not sweep(lock) or not reads(lock, owner) then
    return -1
  end
  return put(lock, owner, ttl)
end

-- turn extends the hold of an owner that reads, and turns an owner that writes into a reader.
local function turn(lock, queue, owner, ttl)
  local value = valueAt(lock)
  if not value then
    return stay(lock, owner, ttl)
  end
  if not isOwner(value, owner) then
    return -1
  end
  local remaining = math.max(redis.call('PTTL', lock), 0)
  local lasts = math.max(remaining, tonumber(ttl))
  redis.call('DEL', lock)
  local done, refused = pcall(put, lock, owner, lasts)
  if not done then -- the owner stays a writer
    redis.call('SET', lock, value, 'PX', lasts)
    error(refused, 0)
  end
  callReaders(lock, queue)
  return remaining
end
