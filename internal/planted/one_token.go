//go:build planted_one_token

package planted

// Bug is the one that is built in.
const Bug = OneToken
