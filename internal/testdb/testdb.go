package testdb

import (
	"errors"
	"os"
	"sync"
)

// TB is the part of *testing.T that this package needs, so that it does not import testing.
type TB interface {
	Helper()
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

var (
	postgres = sync.OnceValues(startPostgres)
	mariadb  = sync.OnceValues(startMariaDB)
)

// PostgreSQL returns the data source of a server, for the driver "pgx". If the server is not installed, PostgreSQL
// skips the test, or fails it in CI.
func PostgreSQL(t TB) string {
	t.Helper()
	return source(t, "PostgreSQL", postgres)
}

// MariaDB returns the data source of a server, for the driver "mysql"; see PostgreSQL.
func MariaDB(t TB) string {
	t.Helper()
	return source(t, "MariaDB", mariadb)
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

// errNotInstalled skips the test. Every other error of a server fails the test.
var errNotInstalled = errors.New("not installed")

func source(t TB, name string, server func() (string, error)) string {
	t.Helper()
	source, err := server()
	if errors.Is(err, errNotInstalled) && os.Getenv("CI") == "" {
		t.Skipf("NOT TESTED on a real %s: %v", name, err)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return source
}
