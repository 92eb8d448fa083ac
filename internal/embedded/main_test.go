package embedded

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	logging.Disable() // go-redis would log each refused dial
	goleak.VerifyTestMain(m)
}
