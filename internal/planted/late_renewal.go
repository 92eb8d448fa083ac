//go:build planted_late_renewal

package planted

// Bug is the one that is built in.
const Bug = LateRenewal
