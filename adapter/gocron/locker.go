package gocronlock

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/go-co-op/gocron/v2"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
)

// Locker acquires a lock for each run of a job. The name of a job (gocron.WithName) is the name of its lock. Use one
// Locker for all schedulers of a process that have jobs of the same names.
type Locker struct {
	client *redlock.Client
	opts   []redlock.LockOption

	mu   sync.Mutex
	held map[string]*redlock.Lock // by the job's name
}

var _ gocron.Locker = (*Locker)(nil)

// NewLocker returns a Locker that locks with the options opts; most schedulers need redlock.WithHoldAtLeast. A Locker
// never waits for a lock, so WithWait has no effect. It does not support WithSlots, because a job has one name and
// one lock.
//
// NewLocker panics if client is nil, if the client refuses the options (see
// redlock.Client.CheckOptions), or if WithSlots is among them or among the client's defaults.
func NewLocker(client *redlock.Client, opts ...redlock.LockOption) *Locker {
	if client == nil {
		panic("gocronlock: nil client")
	}
	if err := client.CheckOptions(append(slices.Clip(opts), redlock.WithoutSlots())...); err != nil {
		panic(fmt.Sprintf("gocronlock: bad options: %v", err))
	}
	return &Locker{client: client, opts: opts, held: map[string]*redlock.Lock{}}
}

// Lock is called by gocron. It locks the name of a job with TryLock, so it does not wait. If TryLock
// returns an error, such as redlock.ErrHeld, gocron skips this run, and passes the error to the job's
// listener AfterLockError.
func (l *Locker) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	lock, err := l.client.TryLock(ctx, key, l.opts...)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[key] = lock
	return &run{l, key, lock}, nil
}

// Job returns the function for gocron.NewTask. Give the job the same name with gocron.WithName. The function calls
// work with the context of redlock.Lock.Context. This context carries the token, and ends when the lock is lost, when
// the job is removed or when the scheduler stops.
//
// The function fails, and does not call work, if the job's lock is not held, for example because the names differ, or
// because the scheduler has no Locker or a different Locker.
func (l *Locker) Job(name string, work func(ctx context.Context, token fence.Token) error) func() error {
	return func() error {
		l.mu.Lock()
		lock := l.held[name]
		l.mu.Unlock()
		if lock == nil {
			return fmt.Errorf("gocronlock: the lock of job %q is not held: the job must have this name (gocron.WithName), and its scheduler this Locker", name)
		}
		return work(lock.Context(), lock.Token())
	}
}

// run is the lock of one run of a job.
type run struct {
	locker *Locker
	key    string
	lock   *redlock.Lock
}

// Unlock is called by gocron after the run.
func (r *run) Unlock(ctx context.Context) error {
	l := r.locker
	l.mu.Lock()
	if l.held[r.key] == r.lock {
		delete(l.held, r.key)
	}
	l.mu.Unlock()
	return r.lock.Unlock(ctx)
}
