//go:build unix

package redisproc

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// parentDir is an environment variable with a folder. If it is set, this test binary starts a server in the folder,
// and waits to be killed.
const parentDir = "REDISPROC_TEST_PARENT_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentDir); dir != "" {
		beParent(dir)
	}
	goleak.VerifyTestMain(m)
}

func beParent(dir string) {
	s, err := Start(Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString(s.Addr() + "\n")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test is gone
	_ = s.Stop()
	os.Exit(0)
}

func TestServerDiesWithParent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: only Linux has a death signal")
	}
	installed(t)
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentDir+"="+t.TempDir())
	stdin, err := parent.StdinPipe()
	check(t, err)
	defer stdin.Close()
	stdout, err := parent.StdoutPipe()
	check(t, err)
	check(t, parent.Start())
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	check(t, err)
	addr = strings.TrimSpace(addr)
	conn, err := net.Dial("tcp", addr)
	check(t, err)
	conn.Close()

	check(t, parent.Process.Kill())
	_ = parent.Wait()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(pollInterval) {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("the server outlived its parent by 5 s")
		}
	}
}
