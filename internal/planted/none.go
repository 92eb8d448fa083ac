//go:build !planted

package planted

// Bug is none.
var Bug honest
