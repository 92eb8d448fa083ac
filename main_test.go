package redlock_test

import (
	"testing"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/script"
)

// buckets is how many counters a master has outside of these tests.
var buckets = script.Buckets

func TestMain(m *testing.M) {
	script.Buckets = 64 // few, because all counters are written when a deployment is founded
	harness.Run(m)
}
