-- repair: write a lock back to a master that lost the lock, or never granted it.
--
-- Keys       lock, fence, gone (mark of this owner)
-- Arguments  owner, token, ttl (ms)
--
-- Replies the grant number, the lock is now the owner's for at least ttl; 0, the lock is another owner's, or this owner gave up
-- here; 1, the owner is a reader here, because a downgrade came first.
-- Errors: NOTMEMBER, the bucket's counter is missing or corrupt.
--
-- Invariants: never takes a lock from its owner, and never shortens its ttl. The counter is at the token or above before the lock is
-- written, so every later grant number here is above the token. Only a holder whose lease is valid may send a repair.
local function repair(lock, fence, gone, owner, token, ttl)
  local grant = reenter(lock, owner, ttl)
  if grant > 1 then -- a late acquire or an earlier repair has arrived
    local reply = confirm(lock, fence, owner, '0', token)
    return reply == 1 and grant or reply
  elseif grant == 1 then
    return 1
  end
  local value = valueAt(lock)
  local taken = value and not channelOf(value) or not value and shared().sweep(lock)
  if taken or redis.call('EXISTS', gone) == 1 then
    return 0
  end
  local missing = counts().raise(fence, token)
  if missing then
    return missing
  end
  -- The lock was free or kept for a waiter. The '+' means that other clients may wait.
  redis.call('SET', lock, string.format('%s %s +', owner, token), 'PX', ttl)
  return tonumber(token)
end
