// Package testskip skips the tests for which a machine lacks something.
package testskip

import (
	"errors"
	"os"
	"testing"
)

// IfLacking skips the test if err is one of the given errors. These show that the machine lacks something,
// such as redis-server. In CI no test may be skipped: then IfLacking returns, and the caller must fail the
// test with err.
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
