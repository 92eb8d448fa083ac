-- This is the head of every guarded script. The write is appended to it.
-- KEYS: the fence key, then the keys of the write. ARGV: the token in decimal without leading
-- zeros, then the arguments of the write. The write finds only its own keys and arguments.
-- Replies: the error "FENCED <highest>" if the token is stale, else the reply of the write.
-- Invariant: the fence never goes down, and no write runs with a lower token.
do
	local fence, token = KEYS[1], ARGV[1]
	local highest = redis.call('GET', fence)
	if highest then
		if not string.find(highest, '^[1-9]%d*$') then
			return redis.error_reply('ERR the fence key ' .. fence .. ' does not hold a token')
		end
		-- Compare texts, because Lua's numbers are doubles, inexact above 2^53. The longer
		-- text is the higher token. Texts of the same length sort as their tokens do.
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
