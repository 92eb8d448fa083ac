package report

// rows places what happens at the same time below each other. It holds the end of the last of each
// row.
type rows []int64

// place returns the first row that is free for what lasts from from to to. It is called in the
// order of from.
func (r *rows) place(from, to int64) int {
	for i, taken := range *r {
		if taken <= from {
			(*r)[i] = to
			return i
		}
	}
	*r = append(*r, to)
	return len(*r) - 1
}

// count is how many rows there are; a lane is never without.
func (r rows) count() int { return max(1, len(r)) }
