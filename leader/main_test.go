package leader_test

import (
	"testing"

	"github.com/redlock-go/redlock/internal/harness"
)

func TestMain(m *testing.M) { harness.Run(m) }
