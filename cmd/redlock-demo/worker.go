package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/embedded"
)

// worker increments both numbers of the store under the lock. It has a client and connections of its own,
// like a separate process.
type worker struct {
	name   string
	conns  []*redis.Client
	client *redlock.Client
	stage  *stage
}

func newWorker(id int, masters []*embedded.Server, st *stage) (*worker, error) {
	w := &worker{name: fmt.Sprintf("worker %d", id+1), stage: st}
	clients := make([]redis.UniversalClient, len(masters))
	for i, m := range masters {
		conn := redis.NewClient(m.Options())
		w.conns, clients[i] = append(w.conns, conn), conn
	}
	var err error
	w.client, err = redlock.New(clients,
		redlock.WithTTL(leaseTTL),
		redlock.WithMaxTTL(leaseTTL),
		redlock.WithRequestTimeout(requestTimeout),
		// An increment ends long before a renewal would be due. A pause imitates a process that is stopped,
		// and so renews nothing. With a watchdog, pause() would have to stop a goroutine of the library.
		redlock.WithoutWatchdog(),
		redlock.WithObserver(redlock.Observer{Acquired: func(_ context.Context, a redlock.Acquisition) {
			st.acquired(w.name, a.Token, a.Took)
		}}))
	return w, err
}

func (w *worker) close() {
	_ = w.client.Close()
	for _, c := range w.conns {
		_ = c.Close()
	}
}

// work increments until ctx ends.
func (w *worker) work(ctx context.Context) {
	for ctx.Err() == nil {
		lock, err := w.client.Lock(ctx, lockName)
		if err != nil {
			if ctx.Err() == nil {
				w.stage.fail(w.name, err)
			}
			return
		}
		w.increment(ctx, lock)
		_ = lock.Unlock(ctx) // fails after a pause, because the lease is over
		sleep(ctx, between(5, 60))
	}
}

// increment reads both numbers, waits, and writes. Before it writes, a worker checks that it still holds the
// lock. A paused worker made this check just before its pause, and writes as if no time had passed.
func (w *worker) increment(show context.Context, lock *redlock.Lock) {
	token := lock.Token()
	fenced, bare, err := w.stage.read(token)
	if err != nil {
		w.stage.report(w.name, "came too late to claim: "+err.Error())
		return
	}
	paused := w.stage.pauseWanted.CompareAndSwap(true, false)
	switch {
	case paused:
		w.stage.count(&w.stage.verdict.HoldersPaused, w.name, fmt.Sprintf("is paused in mid-increment, with token %v", token))
		w.pause(show, token)
		w.stage.report(w.name, "wakes up and writes, as if it still had the lock")
	case !sleep(lock.Context(), between(40, 160)):
		if errors.Is(context.Cause(lock.Context()), redlock.ErrExpired) { // not at the end of the demo
			w.stage.report(w.name, "stops, as its lease is over: nothing written")
		}
		return
	}
	w.stage.write(w.name, token, fenced+1, bare+1)
}

// pause simulates a long garbage collection or a stopped virtual machine: the worker does not notice that its lease
// runs out. The pause lasts until another worker holds the lock, because that is the worst time to continue. It also
// ends with the demo.
func (w *worker) pause(show context.Context, token fence.Token) {
	time.Sleep(leaseTTL + leaseTTL/4)
	for !w.stage.overtaken(token) && sleep(show, 5*time.Millisecond) {
	}
	time.Sleep(between(100, 400))
}

// between returns a random time from least to most milliseconds.
func between(least, most int) time.Duration {
	return time.Duration(least+rand.IntN(most-least)) * time.Millisecond
}
