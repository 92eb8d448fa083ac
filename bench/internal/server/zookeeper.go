package server

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/redlock-go/redlock/internal/proc"
	"github.com/redlock-go/redlock/internal/testdb"
)

// ErrNotInstalled is returned if the machine has no such server.
var ErrNotInstalled = testdb.ErrNotInstalled

// debianZooKeeper is where the Debian package "zookeeper" puts zkServer.sh.
const debianZooKeeper = "/usr/share/zookeeper/bin/zkServer.sh"

// zooKeeperWarmUp is the number of writes after which the Java virtual machine has compiled the server's
// code: the first writes take ten times as long.
const zooKeeperWarmUp = 20_000

// StartZooKeeper starts a single server, and warms it up. The caller must call Stop.
func StartZooKeeper() (_ *Running, err error) {
	script, err := exec.LookPath("zkServer.sh")
	if err != nil {
		script, err = exec.LookPath(debianZooKeeper)
	}
	if err != nil {
		return nil, fmt.Errorf("ZooKeeper (zkServer.sh, Debian package zookeeper): %w", ErrNotInstalled)
	}
	dir, err := os.MkdirTemp("", "bench-zookeeper-")
	if err != nil {
		return nil, err
	}
	r := &Running{stop: []func(){func() { _ = os.RemoveAll(dir) }}}
	defer func() {
		if err != nil {
			r.Stop()
		}
	}()
	if r.Addrs, err = freeAddrs(1); err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "zoo.cfg")
	text := fmt.Sprintf("tickTime=2000\ndataDir=%s\nclientPortAddress=127.0.0.1\nclientPort=%s\nmaxClientCnxns=0\nadmin.enableServer=false\n", dir, strings.TrimPrefix(r.Addrs[0], "127.0.0.1:"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(script, "start-foreground", config)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ZOO_LOG_DIR="+dir)
	// The script's process may become the server or start it: the process group has the server in both cases.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	proc.EndWithParent(cmd.SysProcAttr, syscall.SIGKILL)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r.PIDs = []int{cmd.Process.Pid}
	r.stop = append(r.stop, func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return r, warmUpZooKeeper(r.Addrs)
}

// warmUpZooKeeper makes the server create and delete nodes, as soon as it is ready.
func warmUpZooKeeper(addrs []string) error {
	conn, _, err := zk.Connect(addrs, StartTimeout, zk.WithLogger(silence{}))
	if err != nil {
		return err
	}
	defer conn.Close()
	pair := func() error {
		node, err := conn.Create("/warm-up-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		if err != nil {
			return err
		}
		return conn.Delete(node, -1)
	}
	for begun := time.Now(); pair() != nil; time.Sleep(100 * time.Millisecond) {
		if time.Since(begun) > StartTimeout {
			return errors.New("ZooKeeper is not ready")
		}
	}
	for range zooKeeperWarmUp / 2 {
		if err := pair(); err != nil {
			return err
		}
	}
	return nil
}

type silence struct{}

func (silence) Printf(string, ...any) {}
