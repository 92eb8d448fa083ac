//go:build planted_from_the_end

package planted

// Bug is the one that is built in.
const Bug = FromTheEnd
