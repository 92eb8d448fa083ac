// Package testskip skips the tests for which a machine lacks something.
package testskip

import (
	"errors"
	"os"
	"testing"
)

// IfLacking skips the test if err is one of lacking, the errors of a machine that lacks
// something, such as redis-server. In CI, where no test may be skipped, it returns, and the caller
// must fail the test with err.
func IfLacking(t testing.TB, err error, lacking ...error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		return
	}
	for _, l := range lacking {
		if errors.Is(err, l) {
			t.Skipf("NOT TESTED: %v", err)
		}
	}
}
