package e2e

import (
	"context"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/testdb"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	if text := os.Getenv(holderEnv); text != "" {
		beHolder(text)
		return
	}
	code := m.Run()
	testdb.Stop()
	_ = os.RemoveAll(redlockFolder)
	os.Exit(code)
}

// silent keeps go-redis from logging the dials that fail while servers stop.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
