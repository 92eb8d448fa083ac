package main

import (
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/redlock-go/redlock/bench/internal/child"
	"github.com/redlock-go/redlock/bench/internal/server"
)

// member runs server.EtcdRole: it answers "ready" once it serves.
func member(in *json.Decoder, out *json.Encoder) error {
	var order server.EtcdOrder
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
	case <-time.After(server.StartTimeout):
		return errors.New("etcd is not ready")
	}
	if err := out.Encode("ready"); err != nil {
		return err
	}
	child.UntilStopped(in)
	return nil
}
