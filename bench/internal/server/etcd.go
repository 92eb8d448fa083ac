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

// EtcdRole is the role of a member of an etcd cluster. The member has etcd's defaults, which include fsync.
// The program bench/peers/etcd runs this role.
const EtcdRole = "etcd"

// EtcdOrder is sent to a member before it starts.
type EtcdOrder struct{ Name, Dir, Client, Peer, Cluster string }

// StartEtcd starts a cluster, each member as a process of the program. The caller must call Stop.
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
	addrs, err := freeAddrs(2 * members)
	if err != nil {
		return nil, err
	}
	var cluster []string
	for i := range members {
		cluster = append(cluster, fmt.Sprintf("member%d=http://%s", i, addrs[members+i]))
	}
	var processes []*child.Process
	for i := range members {
		p, err := child.Start(program, EtcdRole)
		if err != nil {
			return nil, err
		}
		r.stop = append(r.stop, func() { _ = p.Stop() })
		r.Addrs = append(r.Addrs, "http://"+addrs[i])
		r.PIDs = append(r.PIDs, p.Process.Pid)
		processes = append(processes, p)
		name := fmt.Sprintf("member%d", i)
		order := EtcdOrder{name, filepath.Join(dir, name), r.Addrs[i], "http://" + addrs[members+i], strings.Join(cluster, ",")}
		if err := p.Send(order); err != nil {
			return nil, err
		}
	}
	for _, p := range processes {
		var ready string
		if err := p.Receive(&ready); err != nil {
			return nil, fmt.Errorf("etcd did not start: %w", err)
		}
	}
	return r, nil
}

// freeAddrs returns different addresses on which no process listened just now.
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
