package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/redlock-go/redlock/bench/internal/reexec"
)

// EtcdRole is a member of an etcd cluster, with its defaults, fsync included.
const EtcdRole = "etcd"

const startTimeout = 30 * time.Second

type etcdOrder struct{ Name, Dir, Client, Peer, Cluster string }

// Etcd plays EtcdRole: it answers once it serves.
func Etcd(in *json.Decoder, out *json.Encoder) error {
	var order etcdOrder
	if err := in.Decode(&order); err != nil {
		return err
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.InitialCluster = order.Name, order.Dir, order.Cluster
	cfg.LogLevel = "panic"
	client, err1 := url.Parse(order.Client)
	peer, err2 := url.Parse(order.Peer)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer etcd.Close()
	select {
	case <-etcd.Server.ReadyNotify():
	case err := <-etcd.Err():
		return err
	case <-time.After(startTimeout):
		return errors.New("etcd is not ready")
	}
	if err := out.Encode("ready"); err != nil {
		return err
	}
	reexec.UntilStopped(in)
	return nil
}

// StartEtcd starts a cluster, one process a member. The caller must call Stop.
func StartEtcd(members int) (_ *Running, err error) {
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
	orders := make([]etcdOrder, members)
	var cluster []string
	for i := range orders {
		ports, err := freePorts(2)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("member%d", i+1)
		orders[i] = etcdOrder{
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
		child, err := reexec.Start(EtcdRole)
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
