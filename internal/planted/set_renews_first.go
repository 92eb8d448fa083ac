//go:build planted

package planted

// setRenewsFirst: of several names that are held together only the first is renewed.
type setRenewsFirst struct{ honest }

func (setRenewsFirst) RenewsAt(i int) bool { return i == 0 }
