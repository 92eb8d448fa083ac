//go:build planted_drift

package planted

// Bug is the one that is built in.
const Bug = Drift
