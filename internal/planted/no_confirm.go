//go:build planted_no_confirm

package planted

// Bug is the one that is built in.
const Bug = NoConfirm
