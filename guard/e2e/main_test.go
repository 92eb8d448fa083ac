package e2e

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testdb"
)

func TestMain(m *testing.M) {
	logging.Disable() // go-redis logs the dials that fail while servers stop
	if text := os.Getenv(holderEnv); text != "" {
		beHolder(text)
		return
	}
	code := m.Run()
	testdb.Stop()
	_ = os.RemoveAll(redlockFolder)
	os.Exit(code)
}

// founded returns the processes of three masters that are a deployment.
func founded(t *testing.T) *harness.Deployment {
	t.Helper()
	d := harness.Processes(t, 3, redisproc.Config{AppendFsync: "always"})
	d.Client() // founds the deployment
	return d
}
