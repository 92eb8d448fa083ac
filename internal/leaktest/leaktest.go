// Package leaktest looks for goroutines that outlive a package's tests.
package leaktest

import (
	"fmt"
	"os"

	"go.uber.org/goleak"
)

// Code is what a TestMain exits with whose tests ended with code: 1 if goroutines are left. What it
// prints then, CI looks for.
func Code(code int) int {
	left := goleak.Find()
	for tries := 1; left != nil && tries < 10; tries++ { // on a busy machine the last are on their way out
		left = goleak.Find()
	}
	if left == nil {
		return code
	}
	fmt.Fprintf(os.Stderr, "goroutines outlived their clients: %v\n", left)
	return 1
}
