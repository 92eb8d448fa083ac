//go:build planted

package planted

import "strings"

// replaced returns source with by in the place of what.
func replaced(source, what, by string) string {
	if !strings.Contains(source, what) {
		panic("planted: the script has changed, the bug does not fit any more: " + what)
	}
	return strings.Replace(source, what, by, 1)
}
