package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/reexec"
	"github.com/redlock-go/redlock/bench/internal/server"
)

// support is what contenders need beside the Redis masters: servers, and programs of peers. Each is
// started, or built, when it is first needed, and kept.
type support struct {
	dir      string // of the programs
	programs map[string]built
	servers  map[contender.Needs]started
}

type built struct {
	path string
	err  error
}

type started struct {
	running *server.Running
	err     error
}

func newSupport() (*support, error) {
	dir, err := os.MkdirTemp("", "bench-peers-")
	return &support{dir, map[string]built{}, map[contender.Needs]started{}}, err
}

// program returns the one that has the contender, see workload.Measure.
func (s *support) program(c contender.Contender) (string, error) {
	if c.Peer == "" {
		return reexec.Self, nil
	}
	b, ok := s.programs[c.Peer]
	if !ok {
		b.path = filepath.Join(s.dir, c.Peer)
		b.err = build(c.Peer, b.path)
		s.programs[c.Peer] = b
	}
	return b.path, b.err
}

// build builds the program of a peer. The working folder must be bench.
func build(peer, path string) error {
	output, err := exec.Command("go", "build", "-C", filepath.Join("peers", peer), "-o", path, ".").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build of peers/%s: %w\n%s", peer, err, output)
	}
	return nil
}

// of returns what the contender runs on, of which the program is.
func (s *support) of(c contender.Contender, program string, masters *server.Running) (*server.Running, error) {
	switch c.Needs {
	case contender.AllMasters:
		return masters, nil
	case contender.OneMaster:
		return masters.First(), nil
	}
	on, ok := s.servers[c.Needs]
	if !ok {
		on.running, on.err = start(c.Needs, program)
		s.servers[c.Needs] = on
	}
	return on.running, on.err
}

func start(needs contender.Needs, program string) (*server.Running, error) {
	switch needs {
	case contender.OneEtcd:
		return server.StartEtcd(program, 1)
	case contender.ThreeEtcd:
		return server.StartEtcd(program, 3)
	case contender.ZooKeeper:
		return server.StartZooKeeper()
	case contender.MariaDB:
		return server.StartMariaDB()
	}
	panic("nobody knows how to start " + string(needs))
}

// stop ends the servers and removes the programs.
func (s *support) stop() error {
	for _, on := range s.servers {
		if on.err == nil {
			on.running.Stop()
		}
	}
	return os.RemoveAll(s.dir)
}
