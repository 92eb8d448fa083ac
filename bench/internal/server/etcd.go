package server

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/reexec"
)

// StartTimeout is how long a server may take until it is ready.
const StartTimeout = 30 * time.Second

// EtcdRole is a member of an etcd cluster, with its defaults, fsync included. The program of the
// peer plays it.
const EtcdRole = "etcd"

// EtcdOrder is what a member is told.
type EtcdOrder struct{ Name, Dir, Client, Peer, Cluster string }

// StartEtcd starts a cluster, one process of the program a member. The caller must call Stop.
func StartEtcd(program string, members int) (_ *Running, err error) {
	dir, err := os.MkdirTemp("", "bench-etcd-")
	if err != nil {
		return nil, err
	}
	r := &Running{stop: []func(){func() { _ = os.RemoveAll(dir) }}}
	defer func() {
		if err != nil {
			r.Stop()
		}
	}()
	orders := make([]EtcdOrder, members)
	var cluster []string
	for i := range orders {
		ports, err := freePorts(2)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("member%d", i+1)
		orders[i] = EtcdOrder{
			Name:   name,
			Dir:    filepath.Join(dir, name),
			Client: fmt.Sprintf("http://127.0.0.1:%d", ports[0]),
			Peer:   fmt.Sprintf("http://127.0.0.1:%d", ports[1]),
		}
		cluster = append(cluster, name+"="+orders[i].Peer)
	}
	children := make([]*reexec.Child, members)
	for i, order := range orders {
		order.Cluster = strings.Join(cluster, ",")
		child, err := reexec.Start(program, EtcdRole)
		if err != nil {
			return nil, err
		}
		children[i] = child
		r.stop = append(r.stop, func() { _ = child.Stop() })
		r.PIDs = append(r.PIDs, child.PID())
		r.Addrs = append(r.Addrs, order.Client)
		if err := child.Tell(order); err != nil {
			return nil, err
		}
	}
	for _, child := range children {
		var ready string
		if err := child.Hear(&ready); err != nil {
			return nil, fmt.Errorf("etcd did not start: %w", err)
		}
	}
	return r, nil
}

// freePorts are different ones on which nobody listened a moment ago.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
