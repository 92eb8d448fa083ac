//go:build planted

package planted

// forceKeepsToken: whom an operator takes a lock with is granted it, and nothing is counted. Its ticket,
// before all others, tells who it is.
type forceKeepsToken struct{ honest }

func (forceKeepsToken) Script(name, source string) string {
	if name != "enter" {
		return source
	}
	const uncounted = `if ticket == '1' then
    redis.call('DECR', fence)
  end
  `
	source = replaced(source, `return grant(lock, fence, owner, ttl, '+')`, uncounted+`return grant(lock, fence, owner, ttl, '+')`)
	return replaced(source, `return grant(lock, fence, owner, ttl, '')`, uncounted+`return grant(lock, fence, owner, ttl, '')`)
}
