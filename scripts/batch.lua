-- batch: run operations, in order. The script that a master runs defines the operations' functions inside of this loop.
--
-- KEYS  the header, then the keys of each operation
-- ARGV  the header, then the name of each operation, followed by its arguments
--
-- internal/script/operations.go has the keys and arguments of each operation. Most operations are short forms: they call a more
-- general function with some arguments fixed, because each word that is sent costs a master as much as a third of a redis.call.
--
-- Replies an array with the reply of each operation: an integer, or the text of an error. Behind these is the key of each lock
-- with a queue for which the batch had no steps left (see queue.lua). For these locks the client sends a leave, which
-- continues. (The error is a text, because go-redis stops reading an array at an error that it knows, for example OOM, and
-- takes the rest for the reply to the next command.)
--
-- Most operations need that this master votes at the version of the header. Otherwise they reply VERSION and the version that
-- the master has accepted; or UNFIT and the reason, if it votes by the table but is unfit now (look.lua).
--
-- Invariants: an operation that fails does not stop the operations behind it. The script as a whole fails only before it
-- changed anything: for example, it is unknown here (NOSCRIPT), may not be called, or is for another member (NOTMEMBER).
local replies = {}
local k, a, last = 2, 2, #ARGV
while a <= last do
  local operation, reply = ARGV[a], nil
  -- dispatch usual cases: acquire release
  end
  if type(reply) ~= 'number' then
    -- more
    if not reply then
      reply, k, a = more.run(operation, k, a)
    elseif reply.broken then
      reply = select(2, pcall(more.counts().lost, reply.fence, reply.broken))
    elseif reply.queue then
      local done, why = pcall(more.callNext, reply.lock, reply.queue, true)
      reply = done and 1 or why
    end
    if type(reply) == 'table' then
      reply = reply.err -- what redis.call raises in Redis 6 is this text already
    end
  end
  replies[#replies + 1] = reply
end
if unfinished then
  for lock in pairs(unfinished) do
    replies[#replies + 1] = lock
  end
end
return replies
