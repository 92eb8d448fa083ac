package redlock

import (
	"os"
	"testing"

	"github.com/redlock-go/redlock/internal/leaktest"
)

// TestMain fails the run when a goroutine of the library outlives the tests. ci/test.sh
// looks for what it says then.
func TestMain(m *testing.M) { os.Exit(leaktest.Code(m.Run())) }
