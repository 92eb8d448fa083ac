//go:build planted

package planted

// anyVersion: a member that votes does so for requests of every version.
type anyVersion struct{ honest }

func (anyVersion) Script(name, source string) string {
	if name != "header" {
		return source
	}
	return replaced(source, `redis.call('HGET', KEYS[1], 'votes') == ARGV[1]`, `redis.call('HEXISTS', KEYS[1], 'votes') == 1`)
}
