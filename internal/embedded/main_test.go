package embedded

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	logging.Disable() // of the dials that these tests have refused
	goleak.VerifyTestMain(m)
}
