package leader_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails the run when a goroutine outlives the tests.
func TestMain(m *testing.M) {
	if urls := os.Getenv(candidateEnv); urls != "" {
		beCandidate(urls)
		return
	}
	code := m.Run()
	left := goleak.Find()
	for tries := 1; left != nil && tries < 10; tries++ { // on a busy machine the last are on their way out
		left = goleak.Find()
	}
	if left != nil {
		fmt.Fprintf(os.Stderr, "goroutines outlived their clients: %v\n", left)
		code = 1
	}
	os.Exit(code)
}
