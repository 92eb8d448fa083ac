//go:build planted_release_anyone || planted_confirm_owner || planted_counted_reentry || planted_any_version || planted_new_votes || planted_no_sync

package planted

import "strings"

// replaced returns source with by in the place of what.
func replaced(source, what, by string) string {
	if !strings.Contains(source, what) {
		panic("planted: the script has changed, the bug does not fit any more: " + what)
	}
	return strings.Replace(source, what, by, 1)
}
