// Package faulttest has tests of what a whole client does when something breaks: requests and
// replies that are lost, late or sent twice, masters that are dead, frozen or refuse, observers
// that panic. It has no other code.
package faulttest

import (
	"testing"

	"github.com/redlock-go/redlock/internal/harness"
)

func TestMain(m *testing.M) {
	harness.Run(m, nil)
}
