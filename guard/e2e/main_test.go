package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testdb"
	"github.com/redlock-go/redlock/internal/testskip"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	if text := os.Getenv(holderEnv); text != "" {
		beHolder(text)
		return
	}
	code := m.Run()
	if err := errors.Join(stopServers()...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	testdb.Stop()
	_ = os.RemoveAll(redlockFolder)
	os.Exit(code)
}

// silent keeps go-redis from logging the dials that fail while servers stop.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// servers are the redis-server processes of the whole run: the masters that the lock lives on, and,
// apart from them, one that has data.
type servers struct {
	masters []string // URLs
	client  *redlock.Client
	store   string // URL
}

var (
	redisServers = sync.OnceValues(startServers)
	running      []*redisproc.Server // written by startServers alone
)

const requestTimeout = 200 * time.Millisecond

func startServers() (*servers, error) {
	var err error
	if running, err = redisproc.StartN(4, redisproc.Config{}); err != nil {
		return nil, err
	}
	s := &servers{store: running[3].URL()}
	for _, master := range running[:3] {
		s.masters = append(s.masters, master.URL())
	}
	if s.client, err = redlock.Open(s.masters, redlock.WithRequestTimeout(requestTimeout)); err != nil {
		return s, err
	}
	return s, found(s.client)
}

// found makes the masters a deployment. One that does not answer in time on a busy machine is asked
// again.
func found(client *redlock.Client) (err error) {
	for range 20 {
		if err = admin.Init(context.Background(), client, 0); !errors.Is(err, redlock.ErrNoQuorum) {
			return err
		}
	}
	return err
}

func stopServers() (errs []error) {
	if len(running) == 0 {
		return nil
	}
	if s, err := redisServers(); err == nil {
		errs = append(errs, s.client.Close())
	}
	for _, server := range running {
		errs = append(errs, server.Stop())
	}
	return errs
}

func needServers(t *testing.T) *servers {
	t.Helper()
	s, err := redisServers()
	testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
	must(t, err)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
