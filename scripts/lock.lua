-- lock: the forms of the value of a lock key, which value.lua parses. It precedes the scripts that use it.
--
-- A lock is a string, so that it is written, with its ttl, by one command:
--
--   '<owner> <grant> <token>'           owned. The token is empty until a confirm writes it. Until then, the grant number counts.
--   the same with a '+' at its end      owned, and others may wait: a release must check the queue.
--   ' <channel>'                        kept for the waiter called on this channel. No owner.
--   '- <owner> <grant> <token>'         lingers: this owner left the lock, which stays taken until it expires. No owner.
--   ' {read}<channel>'                  kept for the reader called on this channel; without a channel, for several readers.
--                                       (A channel begins with the prefix, which has no brace.)
--   ' {next}'                           kept for the first live waiter in the queue: the batch had no steps left.
--
-- A lock of readers is a sorted set; see readers.lua. So a name is free, written, lingering, kept or read, and never two of these.
-- A value of any other form was written by another program, and counts as another owner's lock until it expires.

-- isOwner reports whether value is a lock of this owner.
local function isOwner(value, owner)
  return value and string.find(value, owner .. ' ', 1, true) == 1
end

