// Package faulttest tests a whole client under faults: messages that are lost, late or doubled, masters that
// are dead, frozen or refuse, observers that panic.
package faulttest

import (
	"testing"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/script"
)

func TestMain(m *testing.M) {
	script.Buckets = 64 // fewer than by default, because founding a deployment writes all counters
	harness.Run(m)
}
