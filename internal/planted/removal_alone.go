//go:build planted

package planted

// removalAlone: a removal carries no counters to those that stay.
type removalAlone struct{ honest }

func (removalAlone) Floors(read []int64) []int64 { return make([]int64, len(read)) }
