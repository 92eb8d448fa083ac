-- confirm: raise this master's counter to the token, if the lock still has the grant that was this master's vote.
--
-- Keys       lock, fence
-- Arguments  owner, grant (the grant number of the vote; 0: any, for an acquisition that is complete), token
--
-- Writes the token into the lock, for verify. Replies 1, the counter is at the token or above; 0, the grant is gone.
-- Errors: NOTMEMBER, the bucket's counter is missing or corrupt.
--
-- Invariants: the counter never falls, and the token in the lock never falls. confirm checks the grant and not only the owner,
-- because an acquire that was sent twice may have been granted twice, with a rival's grant in between.
local function confirm(lock, fence, owner, grant, token)
  local holder, current, noted, waited = read(valueAt(lock))
  if holder ~= owner or current ~= grant and grant ~= '0' then
    return 0
  end
  local missing = counts().raise(fence, token)
  if missing then
    return missing
  end
  if noted == '' or tonumber(noted) < tonumber(token) then -- a copy of an earlier confirm may come later
    rewrite(lock, owner, current, token, waited)
  end
  return 1
end
