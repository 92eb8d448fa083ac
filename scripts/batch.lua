-- batch: run operations, in order. Package script inserts the operations' texts and functions into this loop.
--
-- KEYS  the header, then the keys of each operation
-- ARGV  the header, then the name of each operation, followed by its arguments
--
-- internal/script/operations.go has the keys and arguments of each operation. Most operations are short forms: they call a more
-- general function with some constant arguments. The client does not send these constants, because three more words in a request
-- cost a master as much time as one redis.call.
--
-- Replies an array with the reply of each operation: an integer, or the text of an error. After these replies come the keys of
-- the locks for which the batch had no steps left (see queue.lua). For each of these locks the client sends a leave, which
-- continues the work on the queue. (The script replies an error as a text: go-redis would stop reading the array at an error that
-- go-redis knows, for example OOM, and would take the rest of the array for the reply to the next command.)
--
-- Most operations run only if this master votes at the version of the header. If the master votes at this version, but a look
-- (look.lua) finds that it is unfit now, these operations reply UNFIT and the reason. If the master does not vote at this version,
-- these operations reply VERSION and the version that the master has accepted.
--
-- Invariants: an operation that fails does not stop the operations after it. The script as a whole fails only before it changes
-- anything: for example, if the server does not have the script (NOSCRIPT), or if the batch is for another member (NOTMEMBER).
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
      reply = reply.err -- in Redis 6, redis.call raises the text itself
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
