package fault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/faultproxy"
)

// Processes are the client processes of a run. The clients have the names that World.Clients returns.
type Processes interface {
	Stop(client string) error     // SIGSTOP
	Continue(client string) error // SIGCONT; no error if it was not stopped
	Kill(client string) error     // SIGKILL, also of a stopped process; no error if the process is dead
	Restart(client string) error  // starts a killed client; no error if it runs
}

// Operator changes members, and takes locks. Each call acts as a separate operator. When ctx ends, the call stops as if
// its operator was killed, and returns ctx's error. A refused call returns nil: a refusal is expected while another
// change is under way, or another client has the lock.
type Operator interface {
	Change(ctx context.Context, change admin.MemberChange) error

	// Remove removes a member, unless the deployment has too few members.
	Remove(ctx context.Context, member string) error

	// Init founds a deployment on the masters by force if they need one. It does nothing if locks can be acquired.
	Init(ctx context.Context, masters ...string) error

	// ForceUnlock takes a lock from the holders that an inspection shows. emit receives the events.
	ForceUnlock(ctx context.Context, name string, emit func(history.Event)) error
}

// World has the masters, and the fronts: the proxies between clients and masters. A *cluster.Cluster is a World.
type World interface {
	Masters() []cluster.Master               // "m0" first
	Fsync() cluster.Fsync                    // of all masters
	Clients() []string                       // their names
	Front(client string) []*faultproxy.Proxy // in the masters' order; nil if there is no such client
}

// Env is the environment of faults. Set the fields before the first use. An Env must not be copied after its first
// use.
type Env struct {
	World World

	// Processes may be nil if no fault hits clients. Its clients must be the clients of World.
	Processes Processes

	// Operator may be nil if no fault changes members or takes locks. Patience is the longest time for the work of
	// one operator. This work may wait for a quarantine, and for masters that have other faults. A change that takes
	// longer stays unfinished.
	Operator Operator
	Patience time.Duration

	Names []string // the locks that operators take

	Register string // the key under which a master has its part of the register of members

	// Emit receives the events. Their At is 0, which means now. Emit must be safe for concurrent use.
	Emit func(history.Event)

	mu   sync.Mutex
	held map[string]chan struct{} // the things that faults hold; each channel is closed when its fault releases the thing
}

// hold waits until no other fault holds any of the keys, and then acquires all of them together.
func (e *Env) hold(ctx context.Context, keys []string) error {
	for {
		busy := e.tryHold(keys)
		if busy == nil {
			return nil
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryHold acquires all keys or none. If another fault holds one of them, it returns a channel that is closed when
// that fault releases the key.
func (e *Env) tryHold(keys []string) (busy <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held == nil {
		e.held = map[string]chan struct{}{}
	}
	for _, key := range keys {
		if held := e.held[key]; held != nil {
			return held
		}
	}
	free := make(chan struct{})
	for _, key := range keys {
		e.held[key] = free
	}
	return nil
}

func (e *Env) release(keys []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, key := range keys {
		if i == 0 {
			close(e.held[key]) // the same channel for all
		}
		delete(e.held, key)
	}
}

// mastersOf returns the masters of the set.
func (e *Env) mastersOf(set Masters) ([]cluster.Master, error) {
	if set == 0 {
		return nil, nil
	}
	all := e.World.Masters()
	var some []cluster.Master
	for _, n := range set.Numbers() {
		if n >= len(all) {
			return nil, fmt.Errorf("there is no master m%d", n)
		}
		some = append(some, all[n])
	}
	return some, nil
}

// fronts returns the proxies between the clients and the masters that f names, sorted by client and then by master.
func (e *Env) fronts(f Fault) ([]*faultproxy.Proxy, error) {
	var some []*faultproxy.Proxy
	for _, client := range f.Clients.Names(e.World.Clients()) {
		fronts := e.World.Front(client)
		if fronts == nil {
			return nil, fmt.Errorf("there is no client %s", client)
		}
		for _, n := range f.Masters.Numbers() {
			some = append(some, fronts[n])
		}
	}
	return some, nil
}

func (e *Env) masterEvent(kind history.Kind, m cluster.Master) {
	e.Emit(history.Event{Kind: kind, Master: m.Name()})
}

func (e *Env) clientEvent(kind history.Kind, client string) {
	e.Emit(history.Event{Kind: kind, Client: client})
}

// Wait waits for d. It returns as soon as ctx ends, because faults must then be healed.
func Wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// each calls do() for all elements at the same time, and joins the errors.
func each[T any](all []T, do func(T) error) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, one := range all {
		wg.Go(func() { errs[i] = do(one) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
