-- enroll: give a server a new member id. The server is no member before a table lists it. A former member gets a new id, too.
--
-- KEYS  1 the register
-- ARGV  1 the server's run id   2 the id in the register, '' if there is none   3 the deployment   4 the new id
--       5 the version that does not list the server
--
-- Replies 1. Errors: NOTMEMBER, the server changed after the client read it, or its id is valid and may be in use: the server has
-- no table yet, or a higher version, or a table of this version that lists the id; UNFIT, it may not vote in its state.
--
-- Invariants: an id stays with its data. The server forgets the earlier id, with its promises and its accepted table. The
-- counters stay.
if run ~= ARGV[1] or (stored.id or '') ~= ARGV[2] or stored.claim then
  return redis.error_reply('NOTMEMBER it restarted, or got an id meanwhile')
end
if isIntact(ARGV[2]) and (not stored.version or above(stored.version, ARGV[5])
    or stored.version == ARGV[5] and stateOf(stored.table, ARGV[2])) then
  return redis.error_reply('NOTMEMBER its id is new, or it may be a member')
end
local refused = refuses()
if refused then
  return refused
end
become(ARGV[3], ARGV[4])
return 1
