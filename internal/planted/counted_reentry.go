//go:build planted_counted_reentry

package planted

// Bug is the one that is built in.
var Bug countedReentry

// countedReentry: entries are counted one by one, so that a resent one counts twice.
type countedReentry struct{ honest }

func (countedReentry) Script(name, source string) string {
	switch name {
	case "acquire":
		return replaced(source, `redis.call('HSET', lock, 'depth', depth)`, `redis.call('HINCRBY', lock, 'depth', 1)`)
	case "release":
		return replaced(source, `if depth ~= '0' then
    redis.call('HSET', lock, 'depth', depth)`, `if redis.call('HINCRBY', lock, 'depth', -1) > 0 then`)
	}
	return source
}
