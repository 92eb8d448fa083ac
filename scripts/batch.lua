-- batch: run operations, in order. It stands behind all of them, and is what a master runs.
--
-- KEYS  the header, then the keys of each operation
-- ARGV  the header, then the name of each operation, followed by its arguments
--
-- Most operations are short forms of a function: each word costs a master as much as a third of a redis.call.
--
--            keys                      arguments
--   acquire  lock fence gone queue     owner ttl seen            fresh, does not wait
--   enqueue  lock fence gone queue asked  owner ttl channel ticket takes seen  fresh, stands in the queue if it is refused
--   reenter  lock fence gone queue     owner depth ttl
--   confirm  lock fence                owner grant token
--   extend   lock                      owner ttl
--   repair   lock fence gone           owner depth token ttl
--   verify   lock                      token
--   share    lock fence gone queue asked  owner ttl channel ticket  fresh, for reading; channel and ticket are '' if it does not wait
--   stay     lock queue                owner ttl                 extend, or re-enter, for reading; or turn from writing to reading
--   know     fence                     token                     a reader's confirm
--   restore  lock gone queue           owner ttl                 a reader's repair
--   exit     lock                      owner depth               one level
--   release  lock queue                owner                     altogether
--   pass     lock queue                owner channel             and keeps the lock for this waiter
--   undo     lock gone queue asked     owner mark channel ticket an acquire that failed
--   linger   lock gone queue           owner ttl mark            and stays taken for so long
--   leave    lock queue asked          channel                   a waiter
--
-- Replies an array with the reply of each operation: an integer, or the text of an error; and behind these the key of each lock
-- for which there is more to do (see queue.lua): the client sends a leave, which goes on. (The error is a text, because go-redis
-- stops reading an array at an error that it knows, OOM say, and takes the rest for the reply to the next command.)
--
-- All but exit, release, pass, undo, linger and leave need that this master votes at the version of the header. Else they reply
-- VERSION and the version that it has accepted; or UNFIT and the reason, if it votes and may not now (look.lua).
--
-- Invariants: an operation that fails does not stop those behind it. The script as a whole fails only when it did
-- nothing: for example, it is unknown here (NOSCRIPT), may not be called, or is for another member (NOTMEMBER).
local replies = {}
local k, a, last = 2, 2, #ARGV
while a <= last do
  local operation, _, reply = ARGV[a], nil, nil
  if operation == 'acquire' and votes then
    _, reply = pcall(acquire, KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3])
    k, a = k + 4, a + 4
  elseif operation == 'release' then
    _, reply = pcall(release, KEYS[k], KEYS[k + 1], ARGV[a + 1])
    k, a = k + 2, a + 2
  else
    reply, k, a = more().run(operation, k, a)
  end
  if type(reply) == 'table' then
    reply = reply.err -- what redis.call raises in Redis 6 is this text already
  end
  replies[#replies + 1] = reply
end
if unfinished then
  for lock in pairs(unfinished) do
    replies[#replies + 1] = lock
  end
end
return replies
