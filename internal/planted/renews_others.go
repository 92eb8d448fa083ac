//go:build planted

package planted

// renewsOthers: a reader that comes or renews renews all that read.
type renewsOthers struct{ honest }

func (renewsOthers) Script(name, source string) string {
	if name != "readers" {
		return source
	}
	return replaced(source, `    redis.call('ZADD', lock, at + ttl, owner)
`, `    redis.call('ZADD', lock, at + ttl, owner)
    for _, other in ipairs(redis.call('ZRANGE', lock, 0, -1)) do
      redis.call('ZADD', lock, at + ttl, other)
    end
`)
}
