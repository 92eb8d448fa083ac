// Package testservers finds servers of the version lines in the README (for example redis-7.0), for tests of
// differences between versions. ci/servers.sh downloads these servers. Only tests may import it.
package testservers

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/redlock-go/redlock/internal/testskip"
)

// Lines are the version lines in the README, as ci/servers.sh names them.
var Lines = []string{"redis-6.0", "redis-7.0", "redis-8.0", "valkey-8.1"}

// folderEnv is the environment variable with the folder of the servers.
const folderEnv = "REDLOCK_SERVERS"

var errNone = errors.New("the servers of all lines that README names are not here: run ci/servers.sh, and set " + folderEnv + " to the path of bin/servers")

// Programs returns the path of the redis-server of each version line. With -short it skips the test.
func Programs(t *testing.T) (programs []string) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short: the servers of all lines that README names")
	}
	folder := os.Getenv(folderEnv)
	if folder == "" {
		testskip.IfLacking(t, errNone, errNone)
		t.Fatal(errNone)
	}
	for _, line := range Lines {
		programs = append(programs, filepath.Join(folder, line, "redis-server"))
	}
	return programs
}

// LineOf returns the line of one of the Programs.
func LineOf(program string) string { return filepath.Base(filepath.Dir(program)) }

// OnEachLine runs test with each of the Programs, all at the same time, because a test mostly waits.
func OnEachLine(t *testing.T, test func(t *testing.T, program string)) {
	t.Helper()
	var tests sync.WaitGroup
	for _, program := range Programs(t) {
		tests.Go(func() {
			t.Run(LineOf(program), func(t *testing.T) { test(t, program) })
		})
	}
	tests.Wait()
}

// OnAll runs test as OnEachLine does. With -short, or without those servers, it runs test once,
// with program "", for the redis-server on the PATH.
func OnAll(t *testing.T, test func(t *testing.T, program string)) {
	t.Helper()
	if testing.Short() || os.Getenv(folderEnv) == "" {
		t.Run("PATH", func(t *testing.T) { test(t, "") })
	}
	t.Run("lines", func(t *testing.T) { OnEachLine(t, test) })
}
