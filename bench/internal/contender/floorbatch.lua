-- batch: operations of one size each, in order.
--
-- KEYS  an acquire has 4: lock, fence, gone mark, queue; a release 2: lock, queue
-- ARGV  an acquire has 3: 'a', owner, ttl; a release 2: 'r', owner
--
-- Replies an array with the reply of each operation.
local replies, k, a = {}, 1, 1
while ARGV[a] do
  if ARGV[a] == 'a' then
    replies[#replies + 1] = acquire(KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], ARGV[a + 1], ARGV[a + 2])
    k, a = k + 4, a + 3
  else
    replies[#replies + 1] = release(KEYS[k], KEYS[k + 1], ARGV[a + 1])
    k, a = k + 2, a + 2
  end
end
return replies
