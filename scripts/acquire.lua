-- acquire: the usual case of an acquire: no lock, gone mark or queue exists. enter.lua has all cases, with replies and invariants.
--
-- Keys       lock, fence, gone (mark of this owner), queue
-- Arguments  owner, ttl (ms), seen (see grant.lua)
if redis.pcall('EXISTS', lock, gone, queue) == 0 then
  local waited = ''
  -- text: grant
end
