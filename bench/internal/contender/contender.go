// Package contender gives the compared libraries one interface. It uses each library as the library's documentation
// recommends.
package contender

import (
	"context"
	"time"
)

// TTL is the ttl of every lock whose ttl can be chosen. It is redsync's default.
const TTL = 8 * time.Second

// Needs names the servers that a contender runs on.
type Needs string

// The kinds of servers. AllMasters are all Redis masters of a workload, OneMaster is the first of them.
const (
	AllMasters Needs = "all masters"
	OneMaster  Needs = "one master"
	OneEtcd    Needs = "etcd, one member"
	ThreeEtcd  Needs = "etcd, three members"
	ZooKeeper  Needs = "ZooKeeper"
	MariaDB    Needs = "MariaDB"
)

// Contender is one library. Open makes a client for the servers at the addresses, which are URLs, host:port pairs or
// data sources. If the library is only in a program of its own (the field Peer), Open is nil until that program
// calls Provide.
type Contender struct {
	Name  string
	Needs Needs
	Waits bool // it can wait for a lock that another holds
	Open  func(addrs []string) (Client, error)
	Peer  string // folder of the program in peers; "" is none
}

// Client acquires locks. Several goroutines may use it.
type Client interface {
	// Lock acquires the lock. If another holds the lock, Lock waits if wait is true, and otherwise fails. A contender
	// that cannot try without waiting is allowed to ignore wait.
	Lock(ctx context.Context, name string, wait bool) (Held, error)
	Close() error
}

// Held is a lock that is held until Unlock.
type Held interface {
	Token() uint64 // the fencing token; 0 if there is none
	Unlock(ctx context.Context) error
}

// All contenders in the order of the table.
var All = []Contender{
	{Name: "redlock", Needs: AllMasters, Waits: true, Open: openRedlock},
	{Name: "redlock-agent", Needs: AllMasters, Waits: true, Open: openAgent},
	{Name: "floor", Needs: AllMasters, Open: openFloor},
	{Name: "redsync", Needs: AllMasters, Waits: true, Open: openRedsync},
	{Name: "bsm-redislock", Needs: OneMaster, Waits: true, Open: openBsm},
	{Name: "rueidislock", Needs: OneMaster, Waits: true, Peer: "rueidis"},
	{Name: "etcd-1", Needs: OneEtcd, Waits: true, Peer: Etcd},
	{Name: "etcd-3", Needs: ThreeEtcd, Waits: true, Peer: Etcd},
	{Name: "zookeeper", Needs: ZooKeeper, Waits: true, Open: openZooKeeper},
	{Name: "mariadb-getlock", Needs: MariaDB, Waits: true, Open: openMariaDB},
}

// Etcd is the peer whose program also runs the server.
const Etcd = "etcd"

// Provide sets the field Open of the contenders with this Peer. Their program calls it.
func Provide(peer string, open func(addrs []string) (Client, error)) {
	for i := range All {
		if All[i].Peer == peer {
			All[i].Open = open
		}
	}
}

// ByName returns the contender of that name, which must exist.
func ByName(name string) Contender {
	for _, c := range All {
		if c.Name == name {
			return c
		}
	}
	panic("no contender " + name)
}
