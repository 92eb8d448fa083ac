// Package faulttest has tests of what a whole client does when something breaks: requests and
// replies that are lost, late or sent twice, masters that are dead, frozen or refuse, observers
// that panic. It has no other code.
package faulttest

import (
	"testing"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/script"
)

func TestMain(m *testing.M) {
	script.Buckets = 64 // all counters are written when a deployment is founded
	harness.Run(m)
}
