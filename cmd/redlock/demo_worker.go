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
)

// worker increments the ledger under the lock. It has a client and connections of its own, as if it
// were a process of its own.
type worker struct {
	id     int
	rng    *rand.Rand
	conns  []*redis.Client
	client *redlock.Client
	book   *ledger
	stage  *stage
}

func newWorker(id int, seed uint64, masters []testMaster, book *ledger, st *stage) (*worker, error) {
	w := &worker{id: id, rng: rand.New(rand.NewPCG(seed, uint64(id)+1)), book: book, stage: st}
	clients := make([]redis.UniversalClient, len(masters))
	for i, m := range masters {
		conn := m.newClient()
		w.conns, clients[i] = append(w.conns, conn), conn
	}
	var err error
	w.client, err = redlock.New(clients,
		redlock.WithTTL(demoTTL),
		redlock.WithMaxTTL(demoTTL),
		redlock.WithRequestTimeout(demoTimeout),
		// An increment is over long before a lease would be renewed, and a worker that is paused
		// could not renew: this way its pause need not stop a goroutine of the library's too.
		redlock.WithoutWatchdog(),
		redlock.WithObserver(redlock.Observer{Acquired: func(_ context.Context, a redlock.Acquisition) {
			st.acquired(id, a.Token, a.Took, a.Votes)
		}}))
	if err != nil {
		return nil, errors.Join(err, w.closeConns())
	}
	return w, nil
}

func (w *worker) close() {
	_ = w.client.Close()
	_ = w.closeConns() // the show is over
}

func (w *worker) closeConns() error {
	var errs []error
	for _, c := range w.conns {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// work increments until ctx ends.
func (w *worker) work(ctx context.Context) {
	for ctx.Err() == nil {
		w.stage.waits(w.id)
		lock, err := w.client.Lock(ctx, demoLock)
		if err != nil {
			if ctx.Err() == nil {
				w.stage.fail(w.name(), err)
			}
			w.stage.gaveUp(w.id)
			break
		}
		w.stage.holds(w.id, lock)
		w.increment(ctx, lock)
		w.stage.leaves(w.id, lock.Token())
		w.stage.left(w.id, lock.Token(), lock.Unlock(ctx))
		sleep(ctx, w.between(5, 60))
	}
	w.stage.rests(w.id)
}

// increment reads both ledgers, thinks, and writes. A worker that is well looks whether it still
// has the lock before it writes. One that was paused in between did so before the pause, and goes
// on as if no time had passed.
func (w *worker) increment(show context.Context, lock *redlock.Lock) {
	ctx := context.Background() // of the store: the lock's says when to stop, not whether a write may land
	token := lock.Token()
	if err := w.book.claim(ctx, token); err != nil {
		w.stage.tell(w.name(), "came too late to claim: "+oneLine(err))
		return
	}
	fenced, bare := w.book.read()
	if w.stage.takePause(w.id, token) {
		w.pause(show, token)
	} else if !sleep(lock.Context(), w.between(40, 160)) {
		if cause := context.Cause(lock.Context()); errors.Is(cause, redlock.ErrExpired) { // and not the end of the show
			w.stage.told(w.id, token, cause)
		}
		return
	}
	begun := time.Now()
	replaced := w.book.writeBare(bare + 1)
	w.stage.wroteBare(w.id, token, bare+1, replaced, begun)
	begun = time.Now()
	w.stage.wrote(w.id, token, fenced+1, begun, w.book.write(ctx, token, fenced+1))
}

// pause is a long garbage collection, or a virtual machine that is stopped: the worker hears
// nothing of its lease, which runs out. It lasts until others are at work, which is when waking up
// is worst, or the show is over.
func (w *worker) pause(show context.Context, token fence.Token) {
	time.Sleep(demoTTL + demoTTL/4)
	for !w.book.overtaken(token) && sleep(show, 5*time.Millisecond) {
	}
	time.Sleep(w.between(100, 400))
	w.stage.wakes(w.id, token)
}

func (w *worker) name() string { return workerName(w.id) }

func workerName(id int) string { return fmt.Sprintf("worker %d", id+1) }

// between draws a time of so many milliseconds.
func (w *worker) between(least, most int) time.Duration {
	return time.Duration(least+w.rng.IntN(most-least)) * time.Millisecond
}

// summary is an error without the votes of all masters.
func summary(err error) string {
	if q, ok := errors.AsType[*redlock.QuorumError](err); ok {
		err = q.Reason
	}
	return oneLine(err)
}
