package embedded

import (
	"context"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
)

// silent drops what go-redis has to say about the dials that these tests have refused.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	os.Exit(m.Run())
}
