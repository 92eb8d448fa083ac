package scripts_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// What waiters leave behind whose process was killed.

// mortal is a master that one client reaches only as long as that lives.
type mortal struct {
	harness.Master
	*life
}

// life is that of a client's process.
type life struct {
	mu    sync.Mutex
	over  bool
	conns []net.Conn
}

// end breaks the connections, and nothing more is told to anybody.
func (l *life) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	for _, c := range l.conns {
		_ = c.Close()
	}
}

func (m mortal) Options() *redis.Options {
	o := m.Master.Options()
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.over {
			return nil, net.ErrClosed
		}
		conn, err := dial(ctx, network, addr)
		if err == nil {
			m.conns = append(m.conns, conn)
		}
		return conn, err
	}
	return o
}

// killedWaiter has a client wait for name, and kills it in line.
func killedWaiter(d *harness.Deployment, name string) {
	d.T.Helper()
	all, its := d.Masters, new(life)
	d.Masters = nil
	for _, m := range all {
		d.Masters = append(d.Masters, mortal{m, its})
	}
	c := d.Client()
	d.Masters = all
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = c.Lock(ctx, name)
	}()
	d.TicketOf(c, name)
	its.end()
	cancel()
	<-over
	_ = c.Close() // which reaches nobody
}

// Who was killed leaves the queues a minute after its own last word, however long others wait on.
func TestKilledWaitersLeaveByThemselves(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		lock := harness.MustTry(t, d.Client(), "job")
		got := harness.GoLock(t, d.Client(), "job")
		d.InLine("job", 1)
		const killed = 40
		for range killed {
			killedWaiter(d, "job")
		}
		d.InLine("job", killed+1)
		time.Sleep(script.QueueTTL + script.QueueTTL/3)
		k := script.KeysOf(limits.DefaultPrefix, "job", "")
		for i, r := range d.Raw {
			if n, words := r.ZCard(context.Background(), k.Queue).Val(), r.ZCard(context.Background(), k.Asked).Val(); n != 1 || words != 1 {
				t.Errorf("%d stand in the line of master %d, with %d last words", n, i, words)
			}
		}
		harness.Must(t, lock.Unlock(context.Background()))
		harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
		for i, r := range d.Raw {
			if n := r.Exists(context.Background(), k.Queue, k.Asked).Val(); n != 0 {
				t.Errorf("%d keys are left on master %d", n, i)
			}
		}
	})
}

// deadEverywhere puts n into the queues of name, before all others, who said their last word so
// long ago.
func deadEverywhere(d *harness.Deployment, name string, n int, ago time.Duration) {
	d.T.Helper()
	for _, r := range d.Raw {
		harness.Must(d.T, deadInLine(r, script.KeysOf(limits.DefaultPrefix, name, ""), n, 1, ago))
	}
}

// deadInLine does so on one master. half is 0.5 more for readers.
func deadInLine(r *redis.Client, k script.Keys, n int, ticket float64, ago time.Duration) error {
	for done := 0; done < n; {
		var queue, asked []redis.Z
		for ; done < n && len(queue) < 5000; done++ {
			channel := fmt.Sprintf("%s:waits:%032x", limits.DefaultPrefix, done)
			queue = append(queue, redis.Z{Score: ticket, Member: channel})
			asked = append(asked, redis.Z{Score: float64(time.Now().Add(-ago).UnixMicro()), Member: channel})
		}
		p := r.Pipeline()
		p.ZAdd(context.Background(), k.Queue, queue...)
		p.ZAdd(context.Background(), k.Asked, asked...)
		p.PExpire(context.Background(), k.Queue, script.QueueTTL)
		p.PExpire(context.Background(), k.Asked, script.QueueTTL)
		if _, err := p.Exec(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// Many who are dead stand before one who lives: it is called all the same, soon, and no script goes
// past more of them than its bound. A client that closes, and one whose master does not keep the
// script, do not leave it waiting either.
func TestAReleasePassesManyDeadWaiters(t *testing.T) {
	t.Parallel()
	for _, closes := range []bool{false, true} {
		harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
			a, b := d.Reached(), d.Reached()
			held := harness.MustTry(t, a, "job")
			got := harness.GoLock(t, b, "job")
			d.TicketOf(b, "job")
			const dead = 20 * script.MaxSteps
			deadEverywhere(d, "job", dead, time.Second)
			start := time.Now()
			harness.Must(t, held.Unlock(context.Background()))
			if closes {
				harness.Must(t, a.Close())
			}
			lock := harness.Have(t, got)
			if took := time.Since(start); took > time.Second {
				t.Errorf("closes %v: had the lock %v after the release", closes, took)
			}
			harness.Must(t, lock.Unlock(context.Background()))
		})
	}
}

// However many dead stand in a queue, or read: no batch goes past more than so many, and in the end
// the one who lives behind them is served.
func TestNoBatchGoesFar(t *testing.T) {
	t.Parallel()
	const dead, early, late = 5*script.MaxSteps + 7, 1e15, "1500000000000000"
	terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
	alive := "alive"
	in := lease.Place{Channel: &alive, Ticket: waitqueue.TicketOf(late)}
	holdOf := func(owner string, reads bool) *lease.Owner {
		h := &lease.Owner{ID: owner, Keys: script.KeysOf(limits.DefaultPrefix, "job", owner)}
		h.Reads.Store(reads)
		return h
	}
	writer, reader, other := holdOf("w", false), holdOf("r", true), holdOf("s", true)
	k := writer.Keys
	run := func(calls ...script.Call) func(*redis.Client) error {
		return func(r *redis.Client) error {
			for _, c := range calls {
				if _, err := harness.CallIn(script.BatchSource, r, c); err != nil {
					return err
				}
			}
			return nil
		}
	}
	ghosts := func(half float64, ago time.Duration) func(*redis.Client) error {
		return func(r *redis.Client) error { return deadInLine(r, k, dead, early+half, ago) }
	}
	mixed := func(r *redis.Client) error { // readers and writers in turn
		for i := range dead {
			channel := fmt.Sprint("nobody", i)
			if err := r.ZAdd(context.Background(), k.Queue, redis.Z{Score: early + float64(i) + float64(i%2)/2, Member: channel}).Err(); err != nil {
				return err
			}
		}
		return nil
	}
	waits := func(half float64) func(*redis.Client) error {
		return func(r *redis.Client) error {
			return r.ZAdd(context.Background(), k.Queue, redis.Z{Score: 1.5e15 + half, Member: alive}).Err()
		}
	}
	readBy := func(ends time.Duration) func(*redis.Client) error {
		return func(r *redis.Client) error {
			at := time.Now()
			for i := range dead {
				if err := r.ZAdd(context.Background(), k.Lock, redis.Z{Score: float64(at.Add(ends).UnixMilli()), Member: fmt.Sprint("nobody", i)}).Err(); err != nil {
					return err
				}
			}
			return nil
		}
	}
	asks := func(h *lease.Owner) script.Call { return h.AcquireCall(terms, in) }
	unheard := "unheard"
	held := run(writer.AcquireCall(terms, lease.Place{}), other.AcquireCall(terms, lease.Place{Channel: &unheard, Ticket: waitqueue.TicketOf(late)}))
	leaves := func(channel string) script.Call {
		return script.Leave.Call([]*string{&k.Lock, &k.Queue, &k.Asked}, &channel)
	}
	type stage []func(*redis.Client) error
	const forWriter, forReader = " alive", " {read}alive"
	for claim, c := range map[string]struct {
		before stage
		call   script.Call
		want   string // how the lock stands in the end; "called": another has it, and alive was told something
	}{
		"a release, a writer":               {stage{held, ghosts(0, 0), waits(0)}, writer.ReleaseCall(), forWriter},
		"a release, a reader":               {stage{held, ghosts(0.5, 0), waits(0.5)}, writer.ReleaseCall(), forReader},
		"a release, a reader after writers": {stage{held, ghosts(0, 0), waits(0.5)}, writer.ReleaseCall(), forReader},
		"a release, a mix":                  {stage{held, mixed, waits(0)}, writer.ReleaseCall(), forWriter},
		"a release, nobody lives":           {stage{held, mixed}, writer.ReleaseCall(), ""},
		"the last reader leaves":            {stage{run(reader.AcquireCall(terms, lease.Place{})), mixed, waits(0)}, reader.ReleaseCall(), forWriter},
		"it gives back what it had in vain": {stage{run(writer.AcquireCall(terms, lease.Place{})), ghosts(0, 0)}, writer.UndoCall(0, in), forWriter},
		"a lock that expired":               {stage{ghosts(0, 0), waits(0)}, holdOf("x", false).AcquireCall(terms, lease.Place{}), forWriter},
		"a set":                             {stage{ghosts(0, 0), waits(0)}, holdOf("x", false).JointCall(terms, 1), forWriter},
		"who was called leaves": {stage{ghosts(0, 0), waits(0), func(r *redis.Client) error {
			return r.Set(context.Background(), k.Lock, " gone", 0).Err()
		}}, leaves("gone"), forWriter},
		"a writer leaves beside readers":   {stage{run(reader.AcquireCall(terms, lease.Place{})), mixed, waits(0.5)}, leaves("gone"), "called"},
		"a reader comes to readers":        {stage{run(reader.AcquireCall(terms, lease.Place{})), mixed, waits(0.5)}, other.AcquireCall(terms, lease.Place{}), "called"},
		"a downgrade":                      {stage{run(holdOf("r", false).AcquireCall(terms, lease.Place{})), mixed, waits(0.5)}, reader.ExtendCall(terms), "called"},
		"it lingers":                       {stage{run(writer.AcquireCall(terms, lease.Place{})), mixed, waits(0)}, writer.LingerCall(time.Minute, 0), "called"},
		"one asks, others are outdated":    {stage{run(reader.AcquireCall(terms, lease.Place{})), ghosts(0, 2*script.QueueTTL)}, asks(holdOf("w", false)), ""},
		"the time of many readers is over": {stage{readBy(-time.Second), run(reader.AcquireCall(terms, lease.Place{}))}, asks(writer), ""},
		"readers from the future":          {stage{readBy(time.Hour)}, asks(writer), ""},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			for kind, r := range bothKinds(t) {
				harness.Must(t, memberOfOne(r))
				harness.Must(t, r.Set(context.Background(), k.Fence, int64(1)<<41, 0).Err())
				sub := r.Subscribe(context.Background(), alive)
				t.Cleanup(func() { _ = sub.Close() })
				_, err := sub.Receive(context.Background())
				harness.Must(t, err)
				told := sub.Channel()
				for _, before := range c.before {
					harness.Must(t, before(r))
				}
				size := func() int64 {
					return r.ZCard(context.Background(), k.Queue).Val() + r.ZCard(context.Background(), k.Lock).Val()
				}
				calls, has := []script.Call{c.call}, size()
				for batches := 0; len(calls) > 0; batches++ {
					replies, err := harness.RunBatchAt(script.BatchSource, r, "1", calls...)
					harness.Must(t, err)
					if out := has - size(); out > script.MaxSteps+2 {
						t.Errorf("%s: batch %d took %d out, want at most %d", kind, batches, out, script.MaxSteps+2)
					}
					if has = size(); batches > 2*dead {
						t.Fatalf("%s: there is no end to it", kind)
					}
					replies, calls = replies[len(calls):], nil
					for range replies {
						calls = append(calls, leaves(script.GoOn))
					}
				}
				value := r.Get(context.Background(), k.Lock).Val()
				switch {
				case c.want == "called":
					select {
					case <-told:
					case <-time.After(harness.Patience):
						t.Errorf("%s: it was not told", kind)
					}
				case value != c.want:
					t.Errorf("%s: the lock is %q, want %q", kind, value, c.want)
				}
			}
		})
	}
}
