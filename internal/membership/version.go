package membership

import (
	"fmt"

	"github.com/google/uuid"
)

// A version is the ballot under which a table was accepted: a number, and what no other proposer
// has. All are of the same length, so texts compare as ballots do.

// versionAfter returns a ballot above all that are given.
func versionAfter(others ...string) string {
	var top int
	for _, other := range others {
		top = max(top, versionNumber(other))
	}
	return fmt.Sprintf("%010d.%s", top+1, uuid.NewString())
}

// versionNumber is the part that people are told; 0 if there is none.
func versionNumber(version string) int {
	var n int
	_, _ = fmt.Sscanf(version, "%010d.", &n)
	return n
}
