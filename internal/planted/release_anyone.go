//go:build planted_release_anyone

package planted

// Bug is the one that is built in.
const Bug = ReleaseAnyone
