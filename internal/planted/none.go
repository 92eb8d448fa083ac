//go:build !(planted_drift || planted_from_the_end || planted_no_rollback || planted_rollback_heard || planted_release_anyone || planted_one_token || planted_no_confirm || planted_confirm_owner || planted_no_quarantine || planted_late_renewal || planted_counted_reentry || planted_any_version || planted_new_votes || planted_no_sync)

package planted

// Bug is the one that is built in.
var Bug honest
