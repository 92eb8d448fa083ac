-- counter: what confirm, repair, survey and admit share. It stands before each of them, and maxCounter before it.

-- valueOf reads what a GET of a bucket's counter brought. It is nil when that is missing, a mark or out of range: then
-- the master has forgotten what it granted there.
local function valueOf(counter)
  local value = tonumber(counter and string.match(counter, '^[1-9]%d*$') or 'none')
  return value and value <= maxCounter and value or nil
end

-- lostSince reads the mark that survey or acquire left instead of a counter that was missing or out of range: since when
-- (ms). It is nil when there is none.
local function lostSince(counter)
  return tonumber(counter and (string.match(counter, '^lost (%d+)$') or string.match(counter, '^corrupt (%d+)$')) or 'never')
end

