// Package contender makes the libraries that are compared look alike, each used as
// its own documentation says.
package contender

import (
	"context"
	"time"
)

// ttl of every lock, where it can be chosen: redsync's default.
const ttl = 8 * time.Second

// Needs names what a contender runs on.
type Needs string

// What there is. AllMasters are all Redis masters of a workload, OneMaster is the
// first of them.
const (
	AllMasters Needs = "all masters"
	OneMaster  Needs = "one master"
	OneEtcd    Needs = "etcd, one member"
	ThreeEtcd  Needs = "etcd, three members"
	ZooKeeper  Needs = "ZooKeeper"
	MariaDB    Needs = "MariaDB"
)

// Contender is one library. Open makes a client of the servers at the addresses,
// which are URLs, host:port pairs or data sources.
type Contender struct {
	Name  string
	Needs Needs
	Waits bool // it can wait for a lock that another holds
	Open  func(addrs []string) (Client, error)
}

// Client takes locks. Several goroutines may use it.
type Client interface {
	// Lock takes the lock: waiting for it, or failing if it is held. A contender
	// that cannot ask without waiting may wait either way.
	Lock(ctx context.Context, name string, wait bool) (Held, error)
	Close() error
}

// Held is a lock that is held, until Unlock.
type Held interface {
	Token() uint64 // the fencing token; 0 if there is none
	Unlock(ctx context.Context) error
}

// Fair is the name of this library with WithFair.
const Fair = "redlock-fair"

// All contenders in the order of the table.
var All = []Contender{
	{"redlock", AllMasters, true, openRedlock()},
	{Fair, AllMasters, true, openRedlock(fair...)},
	{"floor-group", AllMasters, false, openGroupFloor},
	{"floor-parallel", AllMasters, false, openParallelFloor},
	{"redsync", AllMasters, true, openRedsync},
	{"bsm-redislock", OneMaster, true, openBsm},
	{"rueidislock", OneMaster, true, openRueidis},
	{"etcd-1", OneEtcd, true, openEtcd},
	{"etcd-3", ThreeEtcd, true, openEtcd},
	{"zookeeper", ZooKeeper, true, openZooKeeper},
	{"mariadb-getlock", MariaDB, true, openMariaDB},
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
