//go:build planted_no_rollback

package planted

// Bug is the one that is built in.
const Bug = NoRollback
