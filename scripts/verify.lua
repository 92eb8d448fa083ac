-- verify: report whether the holder with this token has the lock here. Read only.
--
-- Keys       lock
-- Arguments  token
--
-- Replies 1, yes; 0, no. On a quorum of masters, the current holder's token is the grant number, or a confirm has written the
-- token into the lock.
local function verify(lock, token)
  local _, grant, confirmed = read(valueAt(lock))
  if (confirmed ~= '' and confirmed or grant) == token then
    return 1
  end
  return 0
end
