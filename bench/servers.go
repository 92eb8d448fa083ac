package main

import (
	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/server"
)

// servers are those beside the Redis masters. Each is started when it is first
// needed, and kept.
type servers struct {
	running map[contender.Needs]*server.Running
	failed  map[contender.Needs]error
}

func newServers() *servers {
	return &servers{map[contender.Needs]*server.Running{}, map[contender.Needs]error{}}
}

// of returns what the contender runs on.
func (s *servers) of(needs contender.Needs, masters *server.Running) (*server.Running, error) {
	switch needs {
	case contender.AllMasters:
		return masters, nil
	case contender.OneMaster:
		return &server.Running{Addrs: masters.Addrs[:1], PIDs: masters.PIDs[:1]}, nil
	}
	if s.running[needs] == nil && s.failed[needs] == nil {
		s.running[needs], s.failed[needs] = start(needs)
	}
	return s.running[needs], s.failed[needs]
}

func start(needs contender.Needs) (*server.Running, error) {
	switch needs {
	case contender.OneEtcd:
		return server.StartEtcd(1)
	case contender.ThreeEtcd:
		return server.StartEtcd(3)
	case contender.ZooKeeper:
		return server.StartZooKeeper()
	case contender.MariaDB:
		return server.StartMariaDB()
	}
	panic("nobody knows how to start " + string(needs))
}

func (s *servers) stop() {
	for _, r := range s.running {
		if r != nil {
			r.Stop()
		}
	}
}
