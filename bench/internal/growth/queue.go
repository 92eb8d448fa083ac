package growth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/internal/direct"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// Tickets are times in µs: entries of one kind come before all clients that wait, or after them.
const (
	early = 1e15   // in 2001
	late  = 4.4e15 // in 2109
)

// entries are channels of waiters that nobody is behind, put into a queue as the scripts do: more
// than one machine has clients for. The masters go by the channels alone.
type entries struct {
	channels []string
	first    float64 // ticket
}

func newEntries(n int, first float64) entries {
	e := entries{make([]string, n), first}
	for i := range e.channels {
		e.channels[i] = fmt.Sprintf("%s:waits:%032x", limits.DefaultPrefix, i)
	}
	return e
}

// rejoin puts the first of them into the queue of a name again, where one was called: it left the
// queue with that, and does not come.
func (e entries) rejoin(d *deployment, name string) error {
	keys := script.KeysOf(limits.DefaultPrefix, name, "")
	for _, r := range d.direct {
		n, err := r.ZCount(context.Background(), keys.Queue, fmt.Sprint(e.first), "+inf").Result()
		if err == nil && int(n) < len(e.channels) {
			err = addTo(r, keys, e.channels[:min(portion, len(e.channels))], e.first)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// portion is how many are sent to a master at a time.
const portion = 1000

// join puts them into the queue of a name on all masters.
func (e entries) join(d *deployment, name string) error {
	keys := script.KeysOf(limits.DefaultPrefix, name, "")
	for _, r := range d.direct {
		for at := 0; at < len(e.channels); at += portion {
			if err := addTo(r, keys, e.channels[at:min(at+portion, len(e.channels))], e.first+float64(at)); err != nil {
				return err
			}
		}
	}
	return nil
}

func addTo(r *redis.Client, keys script.Keys, channels []string, first float64) error {
	var queue, asked []redis.Z
	for i, channel := range channels {
		queue = append(queue, redis.Z{Score: first + float64(i), Member: channel})
		asked = append(asked, redis.Z{Score: float64(time.Now().UnixMicro()), Member: channel})
	}
	return place(r, keys, queue, asked)
}

// place writes entries with their tickets and last words.
func place(r *redis.Client, keys script.Keys, queue, asked []redis.Z) error {
	p := r.Pipeline()
	p.ZAdd(context.Background(), keys.Queue, queue...)
	p.ZAdd(context.Background(), keys.Asked, asked...)
	p.PExpire(context.Background(), keys.Queue, script.QueueTTL)
	p.PExpire(context.Background(), keys.Asked, script.QueueTTL)
	_, err := p.Exec(context.Background())
	return err
}

// live has all masters find somebody who hears each of the channels.
func (e entries) live(d *deployment) (end func(), err error) {
	var all []*redis.PubSub
	end = func() {
		for _, s := range all {
			_ = s.Close()
		}
	}
	for _, r := range d.direct {
		s := r.Subscribe(context.Background())
		all = append(all, s)
		for at := 0; at < len(e.channels); at += portion {
			some := e.channels[at:min(at+portion, len(e.channels))]
			if err := s.Subscribe(context.Background(), some...); err != nil {
				end()
				return nil, err
			}
			for range some {
				if _, err := s.Receive(context.Background()); err != nil {
					end()
					return nil, err
				}
			}
		}
		go func() { // what it is told must not fill the master's buffer
			for range s.Channel() {
			}
		}()
	}
	return end, nil
}

// scriptTimes are how long a master takes over one operation.
type scriptTimes struct{ acquire, release, leave time.Duration }

// timeScripts measures operations on one master for a lock that is held, with what stands in its
// queue: another comes and waits, that leaves, and the holder releases. What the release took out
// is put back before the next round.
func timeScripts(r *redis.Client, name string, length time.Duration) (mean scriptTimes, err error) {
	ctx := context.Background()
	if err := r.ScriptLoad(ctx, script.BatchSource).Err(); err != nil {
		return mean, err
	}
	header, err := direct.Header(ctx, r, limits.DefaultPrefix)
	if err != nil {
		return mean, err
	}
	run := func(sum *time.Duration, call script.Call, want script.Answer) error {
		_, before := server.Scripts(r)
		replies, err := direct.Run(ctx, r, "evalsha", script.BatchSHA, limits.DefaultPrefix, header, call)
		_, after := server.Scripts(r)
		*sum += after - before
		if err != nil {
			return err
		}
		if n, ok := replies[0].(int64); !ok || call.Read(n).Answer != want {
			return fmt.Errorf("%s: the master replied %v", call.Name, replies[0])
		}
		return nil
	}
	terms := quorum.TermsOf(limits.DefaultTTL, 0, limits.DefaultDrift)
	holder := &lease.Owner{ID: "holder", Keys: script.KeysOf(limits.DefaultPrefix, name, "holder")}
	comer := &lease.Owner{ID: "comer", Keys: script.KeysOf(limits.DefaultPrefix, name, "comer")}
	keys, channel := holder.Keys, limits.DefaultPrefix+":waits:comer"
	// This is how a lock stands that others wait for. An acquire would not get it, because of the
	// queue.
	const held = "holder 1 1 1+"
	rounds := 0
	for end := time.Now().Add(length); rounds == 0 || time.Now().Before(end); rounds++ {
		if err := r.Set(ctx, keys.Lock, held, limits.DefaultTTL).Err(); err != nil {
			return mean, err
		}
		in := lease.Place{Channel: &channel, Ticket: waitqueue.TicketOf(fmt.Sprintf("%.0f", late+1e12))}
		if err := run(&mean.acquire, comer.AcquireCall(terms, in), script.Held); err != nil {
			return mean, err
		}
		if err := run(&mean.leave, script.Leave.Call([]*string{&keys.Lock, &keys.Queue, &keys.Asked}, &channel), script.Granted); err != nil {
			return mean, err
		}
		queue, err := r.ZRangeWithScores(ctx, keys.Queue, 0, script.MaxSteps+1).Result()
		if err != nil {
			return mean, err
		}
		if err := run(&mean.release, holder.ReleaseCall(), script.Granted); err != nil {
			return mean, err
		}
		asked := make([]redis.Z, len(queue))
		for i, z := range queue {
			asked[i] = redis.Z{Score: float64(time.Now().UnixMicro()), Member: z.Member}
		}
		if err := place(r, keys, queue, asked); err != nil {
			return mean, err
		}
	}
	of := func(sum time.Duration) time.Duration { return sum / time.Duration(rounds) }
	return scriptTimes{of(mean.acquire), of(mean.release), of(mean.leave)}, nil
}

// relay is two clients of a deployment that hand a name to each other.
type relay struct {
	d       *deployment
	name    string
	holder  *redlock.Lock
	clients [2]*redlock.Client
	next    int // of the clients, to wait
}

// newRelay has the first client take the name. The caller must close the clients.
func newRelay(d *deployment, name string) (_ *relay, err error) {
	r := &relay{d: d, name: name, next: 1}
	for i := range r.clients {
		if r.clients[i], err = redlock.Open(d.Addrs, redlock.WithRequestTimeout(2*time.Second)); err != nil {
			return r, err
		}
	}
	r.holder, err = r.clients[0].Lock(context.Background(), name, redlock.WithWait(patience))
	return r, err
}

func (r *relay) close() error {
	var errs []error
	for _, c := range r.clients {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// wait has the other client wait, until it stands in the queues of a quorum.
func (r *relay) wait() (got <-chan handed, err error) {
	c, had := r.clients[r.next], make(chan handed, 1)
	r.next = 1 - r.next
	go func() {
		lock, err := c.Lock(context.Background(), r.name, redlock.WithWait(patience))
		had <- handed{lock, time.Now(), err}
	}()
	key := script.KeysOf(limits.DefaultPrefix, r.name, "").Queue
	err = until("it stands in the queues of a quorum", func() (bool, error) {
		in, err := r.d.each(func(c *redis.Client) (float64, error) {
			n, err := c.ZCount(context.Background(), key, fmt.Sprint(early+1e14), fmt.Sprint(late-1)).Result()
			return float64(n), err
		})
		return in > .5, err
	})
	return had, err
}

type handed struct {
	lock *redlock.Lock
	at   time.Time
	err  error
}

// hand releases the lock, and returns how long it took until the other had it.
func (r *relay) hand(got <-chan handed) (time.Duration, error) {
	begun := time.Now()
	if err := r.holder.Unlock(context.Background()); err != nil {
		return 0, err
	}
	h := <-got
	r.holder = h.lock
	return h.at.Sub(begun), h.err
}
