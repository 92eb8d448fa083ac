package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/redlock-go/redlock/bench/internal/child"
	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

// peers are the servers and programs that contenders need beside the Redis masters. Each is
// started, or built, when it is first needed. The result is kept, even if it is an error.
type peers struct {
	dir      string // the folder of the programs; "" before the first program is built
	programs map[string]func() (string, error)
	servers  map[contender.Needs]func() (*server.Running, error)
	stops    []func()
}

func newPeers() *peers {
	return &peers{programs: map[string]func() (string, error){}, servers: map[contender.Needs]func() (*server.Running, error){}}
}

// measure measures a cell of any contender.
func (p *peers) measure(w workload.Workload, c contender.Contender, masters *server.Running, length time.Duration) (workload.Cell, error) {
	program, err := p.program(c)
	if err != nil {
		return workload.Cell{}, err
	}
	on := masters
	switch c.Needs {
	case contender.AllMasters:
	case contender.OneMaster:
		on = masters.First()
	default:
		if on, err = p.server(c.Needs, program); err != nil {
			return workload.Cell{}, err
		}
	}
	return workload.Measure(w, c, program, on, length)
}

// program returns the path of the contender's program. The working folder must be bench.
func (p *peers) program(c contender.Contender) (string, error) {
	if c.Peer == "" {
		return child.Self, nil
	}
	if p.programs[c.Peer] == nil {
		p.programs[c.Peer] = sync.OnceValues(func() (string, error) { return p.build(c.Peer) })
	}
	return p.programs[c.Peer]()
}

func (p *peers) build(peer string) (path string, err error) {
	if p.dir == "" {
		if p.dir, err = os.MkdirTemp("", "bench-peers-"); err != nil {
			return "", err
		}
	}
	path = filepath.Join(p.dir, peer)
	output, err := exec.Command("go", "build", "-C", filepath.Join("peers", peer), "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build of peers/%s: %w\n%s", peer, err, output)
	}
	return path, nil
}

// server returns servers that are not Redis masters.
func (p *peers) server(needs contender.Needs, program string) (*server.Running, error) {
	if p.servers[needs] == nil {
		p.servers[needs] = sync.OnceValues(func() (*server.Running, error) {
			on, err := start(needs, program)
			if err == nil {
				p.stops = append(p.stops, on.Stop)
			}
			return on, err
		})
	}
	return p.servers[needs]()
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
func (p *peers) stop() {
	for _, stop := range p.stops {
		stop()
	}
	_ = os.RemoveAll(p.dir) // if this fails, the folder stays among the temporary files
}
