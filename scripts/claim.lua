-- claim: the first step of an init: the server becomes a candidate for a deployment that does not exist yet.
--
-- KEYS  1 the register
-- ARGV  1 the server's run id   2 the deployment   3 a new member id   4 the addresses of all servers, one a line   5 the ballot
--       6 'force': claim the server even if it belongs to a deployment, or if an init with other addresses has claimed it
--
-- Replies the member's id. A later claim keeps the id, unless the server has a table or has lost data.
-- Errors: CLAIMED, the server restarted, or another init has claimed it, with a higher ballot or for other servers; BELONGS, the
-- server belongs to a deployment; UNFIT, the server may not vote in its state.
--
-- Invariants: of two inits of the same servers, the init with the higher ballot goes on. A founded server is claimed again only
-- by force. A server that keeps its id also keeps its promises: the server may be in the first table of an earlier init, and other
-- clients may have changed that table already.
if run ~= ARGV[1] then
  return redis.error_reply('CLAIMED it restarted meanwhile')
end
if stored.deployment == ARGV[2] and stored.claimed == ARGV[5] then
  return stored.id -- this is a second copy of the request
end
local forced, id = ARGV[6] == 'force', ARGV[3]
if not stored.claim and stored.deployment and not forced then
  return redis.error_reply('BELONGS ' .. stored.deployment)
elseif stored.claim and stored.claim ~= ARGV[4] and not forced then
  return redis.error_reply('CLAIMED ' .. stored.claim)
elseif stored.claim and not above(ARGV[5], stored.claimed) then
  return redis.error_reply('CLAIMED another init is under way')
end
local promised
if stored.claim and isIntact(stored.id) then
  id, promised = stored.id, stored.promised
end
local refused = refuses()
if refused then
  return refused
end
become(ARGV[2], id)
redis.call('HSET', KEYS[1], 'claim', ARGV[4], 'claimed', ARGV[5])
if promised then
  redis.call('HSET', KEYS[1], 'promised', promised)
end
return id
