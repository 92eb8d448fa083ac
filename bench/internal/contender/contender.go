// Package contender makes the libraries that are compared look alike, each used as its own
// documentation says.
package contender

import (
	"context"
	"time"
)

// TTL of every lock, where it can be chosen: redsync's default.
const TTL = 8 * time.Second

// Contender is one library. Open makes a client of the masters at the URLs.
type Contender struct {
	Name  string
	One   bool // it runs on one master, the first of the workload
	Waits bool // it can wait for a lock that another holds
	Open  func(urls []string) (Client, error)
}

// Client takes locks. Several goroutines may use it.
type Client interface {
	// Lock takes the lock: waiting for it, or failing if it is held. A contender that cannot ask
	// without waiting may wait either way.
	Lock(ctx context.Context, name string, wait bool) (Held, error)
	Close() error
}

// Held is a lock that is held, until Unlock.
type Held interface {
	Token() uint64 // the fencing token; 0 if there is none
	Unlock(ctx context.Context) error
}

// All contenders in the order of the table.
var All = []Contender{
	{Name: "redlock", Waits: true, Open: openRedlock},
	{Name: "redlock-agent", Waits: true, Open: openAgent},
	{Name: "floor", Open: openFloor},
	{Name: "redsync", Waits: true, Open: openRedsync},
	{Name: "bsm-redislock", One: true, Waits: true, Open: openBsm},
	{Name: "rueidislock", One: true, Waits: true, Open: openRueidis},
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
