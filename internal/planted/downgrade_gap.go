//go:build planted

package planted

// downgradeGap: a downgrade frees the lock, and the next renewal makes the reader.
type downgradeGap struct{ honest }

func (downgradeGap) Script(name, source string) string {
	if name != "stay" {
		return source
	}
	source = replaced(source, `pcall(put, lock, owner, lasts)`, `true`)
	source = replaced(source, `callReaders(lock, queue)`, `callNext(lock, queue)`)
	return replaced(source, `not sweep(lock) or not reads(lock, owner)`, `sweep(lock) and false`)
}
