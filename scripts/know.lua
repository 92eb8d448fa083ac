-- know: raise this master's counter to the token of a reader: the highest counter of the masters that granted.
--
-- Keys       fence
-- Arguments  token
--
-- Replies 1, the counter is at the token or above. Errors: NOTMEMBER, the bucket's counter is missing or corrupt.
--
-- Invariants: the counter never falls. A writer that is granted here afterwards gets a number above the token.
local function know(fence, token)
  return counts().raise(fence, token) or 1
end
