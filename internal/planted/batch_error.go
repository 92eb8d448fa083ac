//go:build planted

package planted

// batchError: an error of an operation is that of its batch, which it ends.
type batchError struct{ honest }

func (batchError) Script(name, source string) string {
	if name != "batch" {
		return source
	}
	return replaced(source, `reply = reply.err -- what redis.call raises in Redis 6 is this text already`, `return reply`)
}
