package server

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/child"
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
	var pids []int
	r := &Running{PIDs: func() []int { return pids }, stop: []func(){func() { _ = os.RemoveAll(dir) }}}
	defer func() {
		if err != nil {
			r.Stop()
		}
	}()
	addrs, err := freeAddrs(2 * members)
	if err != nil {
		return nil, err
	}
	var orders []EtcdOrder
	var cluster []string
	for i := range members {
		name := fmt.Sprintf("member%d", i+1)
		o := EtcdOrder{Name: name, Dir: filepath.Join(dir, name), Client: "http://" + addrs[2*i], Peer: "http://" + addrs[2*i+1]}
		orders = append(orders, o)
		cluster = append(cluster, name+"="+o.Peer)
	}
	var processes []*child.Process
	for _, order := range orders {
		order.Cluster = strings.Join(cluster, ",")
		p, err := child.Start(program, EtcdRole)
		if err != nil {
			return nil, err
		}
		r.stop = append(r.stop, func() { _ = p.Stop() })
		r.Addrs = append(r.Addrs, order.Client)
		processes, pids = append(processes, p), append(pids, p.Pid)
		if err := p.Tell(order); err != nil {
			return nil, err
		}
	}
	for _, p := range processes {
		var ready string
		if err := p.Hear(&ready); err != nil {
			return nil, fmt.Errorf("etcd did not start: %w", err)
		}
	}
	return r, nil
}

// freeAddrs are different ones on which nobody listened a moment ago.
func freeAddrs(n int) (addrs []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}
