//go:build planted_counted_reentry

package planted

// Bug is the one that is built in.
const Bug = CountedReentry
