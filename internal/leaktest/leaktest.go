// Package leaktest looks for goroutines that outlive a package's tests.
package leaktest

import (
	"fmt"
	"os"

	"go.uber.org/goleak"
)

// Code returns the exit status of a TestMain whose tests ended with the given code. If goroutines are left, it
// returns 1, and prints a text for which CI searches.
func Code(code int) int {
	left := goleak.Find()
	for tries := 1; left != nil && tries < 10; tries++ { // on a busy machine the last goroutines may be ending
		left = goleak.Find()
	}
	if left == nil {
		return code
	}
	fmt.Fprintf(os.Stderr, "goroutines outlived their clients: %v\n", left)
	return 1
}
