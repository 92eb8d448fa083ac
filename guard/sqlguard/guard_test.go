package sqlguard_test

import (
	"testing"

	"github.com/redlock-go/redlock/guard/guardtest"
)

func TestConformance(t *testing.T) {
	eachDatabase(t, func(t *testing.T, store cells) {
		guardtest.Run(t, store)
	})
}
