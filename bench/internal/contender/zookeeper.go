package contender

import (
	"context"
	"strings"

	"github.com/go-zookeeper/zk"
)

// zooKeeperClient is the lock recipe of go-zookeeper. It can neither try without waiting nor
// stop waiting.
type zooKeeperClient struct{ conn *zk.Conn }

func openZooKeeper(addrs []string) (Client, error) {
	conn, _, err := zk.Connect(addrs, TTL, zk.WithLogger(silence{}))
	return zooKeeperClient{conn}, err
}

type silence struct{}

func (silence) Printf(string, ...any) {}

func (c zooKeeperClient) Lock(_ context.Context, name string, _ bool) (Held, error) {
	l := zk.NewLock(c.conn, "/bench-"+strings.ReplaceAll(name, "/", "-"), zk.WorldACL(zk.PermAll))
	return zooKeeperHeld{l}, l.Lock()
}

func (c zooKeeperClient) Close() error {
	c.conn.Close()
	return nil
}

type zooKeeperHeld struct{ l *zk.Lock }

func (zooKeeperHeld) Token() uint64 { return 0 }

func (h zooKeeperHeld) Unlock(context.Context) error { return h.l.Unlock() }
