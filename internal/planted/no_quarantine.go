//go:build planted_no_quarantine

package planted

// Bug is the one that is built in.
const Bug = NoQuarantine
