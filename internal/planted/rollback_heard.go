//go:build planted_rollback_heard

package planted

// Bug is the one that is built in.
const Bug = RollbackHeard
