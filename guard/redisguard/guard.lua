-- The head of every guarded script: the write follows below it.
-- KEYS: the fence key, then those of the write. ARGV: the token in decimal
-- without leading zeros, then those of the write. The write finds only its own keys and arguments.
-- Replies: the error "FENCED <highest>" if the token is stale, else the write's.
-- Invariant: the fence never goes down, and nothing is written below it.
do
	local fence, token = KEYS[1], ARGV[1]
	local highest = redis.call('GET', fence)
	if highest then
		if not string.find(highest, '^[1-9]%d*$') then
			return redis.error_reply('ERR the fence key ' .. fence .. ' does not hold a token')
		end
		-- As text, since Lua's numbers are doubles and inexact above 2^53:
		-- the longer decimal is the higher, and of one length the later.
		if #token < #highest or (#token == #highest and token < highest) then
			return redis.error_reply('FENCED ' .. highest)
		end
	end
	if token ~= highest then
		redis.call('SET', fence, token)
	end
	table.remove(KEYS, 1)
	table.remove(ARGV, 1)
end
