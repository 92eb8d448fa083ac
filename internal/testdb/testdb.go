package testdb

import (
	"errors"
	"sync"
	"testing"

	"github.com/redlock-go/redlock/internal/testskip"
)

var (
	// PostgreSQL returns the data source of a server, for the driver "pgx".
	PostgreSQL = sync.OnceValues(startPostgres)

	// MariaDB returns the data source of a server, for the driver "mysql".
	MariaDB = sync.OnceValues(startMariaDB)
)

// ErrNotInstalled is the error of PostgreSQL and MariaDB if the machine lacks the server.
var ErrNotInstalled = errors.New("not installed")

// Source returns the data source of a server: PostgreSQL or MariaDB. If the server is not installed, Source skips the
// test, or fails it in CI.
func Source(t testing.TB, server func() (string, error)) string {
	t.Helper()
	source, err := server()
	testskip.IfLacking(t, err, ErrNotInstalled)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// Stop ends all servers and removes their folders. It is for the end of TestMain; no test may run
// any more.
func Stop() {
	stopsMu.Lock()
	defer stopsMu.Unlock()
	for _, stop := range stops {
		stop()
	}
	stops = nil
}

var (
	stopsMu sync.Mutex
	stops   []func()
)
