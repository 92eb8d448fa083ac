// Package faulttest tests a whole client under faults: messages that are lost, late or doubled, masters that
// are dead, frozen or refuse, observers that panic.
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
