//go:build planted

package planted

// countedReentry: entries are counted one by one, so that a resent one counts twice.
type countedReentry struct{ honest }

func (countedReentry) Script(name, source string) string {
	switch name {
	case "enter":
		return replaced(source, `local _, _, grant, token, waited = read(value)
    rewrite(lock, owner, depth, grant, token, waited)`, `local _, was, grant, token, waited = read(value)
    rewrite(lock, owner, was + 1, grant, token, waited)`)
	case "release":
		return replaced(source, `redis.call('DEL', lock)`, `local holder, was, grant, token, waited = string.match(value, '^(%S+) (%d+) (%d+) (%d*)(%+?)$')
  if tonumber(was) > 1 then
    redis.call('SET', lock, string.format('%s %d %s %s%s', holder, was - 1, grant, token, waited), 'KEEPTTL')
    return 1
  end
  redis.call('DEL', lock)`)
	case "unlock":
		source = replaced(source, `elseif depth == '0' and not others then`, `elseif not others and tonumber(string.match(value, '^%S+ (%d+)')) <= 1 then`)
		return replaced(source, `if depth ~= '0' then
    if not reads then
      local _, _, grant, token, waited = read(value)
      rewrite(lock, owner, depth, grant, token, waited)
    end`, `local _, was, grant, token, waited = read(value)
  if reads and depth ~= '0' then
    return 1
  elseif not reads and tonumber(was) > 1 then
    rewrite(lock, owner, was - 1, grant, token, waited)`)
	}
	return source
}
