//go:build planted

package planted

// readersFirst: a reader is let in while others read, whoever stands in line.
type readersFirst struct{ honest }

func (readersFirst) Script(name, source string) string {
	if name != "share" {
		return source
	}
	return replaced(source, `not called and forReaders and writerBefore(lock, queue, channel, ticket)`, `false`)
}
