//go:build planted_confirm_owner

package planted

// Bug is the one that is built in.
const Bug = ConfirmOwner
