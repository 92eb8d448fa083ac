package leader_test

import (
	"os"
	"testing"

	"github.com/redlock-go/redlock/internal/leaktest"
)

// TestMain fails the run when a goroutine outlives the tests.
func TestMain(m *testing.M) {
	if urls := os.Getenv(candidateEnv); urls != "" {
		beCandidate(urls)
		return
	}
	os.Exit(leaktest.Code(m.Run()))
}
