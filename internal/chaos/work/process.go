package work

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// Settings configure the workers of a client process.
type Settings struct {
	Number   int // of the client, from 0: the client is called "c<number>"
	Life     int // the number of this start of the client, from 1
	Seed     uint64
	Workers  int
	Names    []string      // of the locks
	TTL      time.Duration // of a lease
	MaxTTL   time.Duration // of all leases of the deployment
	Patience time.Duration // the longest wait of a waiter
	Reads    int           // of a hundred locks, how many are for reading
	Sets     int           // of a hundred calls for locks, how many are for several names together
}

// Store keeps one number for each resource, 0 at first.
type Store interface {
	Name() string // one of the stores in package history

	Write(ctx context.Context, resource string, token fence.Token, value int64) error

	// Read returns the resource's number. If the token is not 0, a guard also claims the resource for the token in the
	// same operation, so that older holders cannot change the number afterwards.
	Read(ctx context.Context, resource string, token fence.Token) (int64, error)
}

// Process is one life of a client process, with the state that its workers share.
type Process struct {
	settings Settings
	calls    *recorder
	holds    *holds
}

// NewProcess returns a Process that writes events to out.
func NewProcess(s Settings, out history.Log) *Process {
	calls := newRecorder(out, s.Number, s.Life)
	return &Process{settings: s, calls: calls, holds: &holds{calls: calls}}
}

// Renewed is the function Renewed of the client's redlock.Observer.
func (p *Process) Renewed(_ context.Context, r redlock.Renewal) { p.holds.renewed(r) }

// Run runs the workers until ctx ends, and returns when all workers have ended.
func (p *Process) Run(ctx context.Context, client *redlock.Client, stores []Store) {
	var workers sync.WaitGroup
	s := p.settings
	for i := range s.Workers {
		w := &worker{
			Settings: s,
			private:  fmt.Sprintf("%s-of-c%d-%d", s.Names[0], s.Number, i),
			client:   client,
			stores:   stores,
			calls:    p.calls,
			holds:    p.holds,
			chance:   rand.New(rand.NewPCG(s.Seed, uint64(s.Number)<<32|uint64(s.Life)<<16|uint64(i))),
		}
		workers.Go(func() { w.run(ctx) })
	}
	workers.Wait()
}

// Wait returns when all events are written. The client must be closed.
func (p *Process) Wait() { p.holds.wait() }
