package leader_test

import (
	"os"
	"testing"

	"github.com/redlock-go/redlock/internal/leaktest"
)

// TestMain fails the run when a goroutine outlives the tests.
func TestMain(m *testing.M) {
	os.Exit(leaktest.Code(m.Run()))
}
