package growth

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/workload"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// Tickets are times in µs. The tickets of all real clients lie between these two tickets.
const (
	early = 1e15   // in 2001
	late  = 4.4e15 // in 2109
)

// portion is how many entries are sent to a master at a time.
const portion = 1000

const name = "relay"

var keys = script.KeysOf(limits.DefaultPrefix, name, "")

// entries returns n channels of clients that do not exist. A machine does not have room for so many real clients.
func entries(n int) []string {
	channels := make([]string, n)
	for i := range channels {
		channels[i] = fmt.Sprintf("%s:waits:%032x", limits.DefaultPrefix, i)
	}
	return channels
}

// join puts entries for the channels into the queue of a master, with ascending tickets. The caller gives the first
// one.
func (d *deployment) join(r *redis.Client, channels []string, first float64) {
	d.Helper()
	ctx := context.Background()
	for at := 0; at < len(channels); at += portion {
		var queue, asked []redis.Z
		for i, channel := range channels[at:min(at+portion, len(channels))] {
			queue = append(queue, redis.Z{Score: first + float64(at+i), Member: channel})
			asked = append(asked, redis.Z{Score: float64(time.Now().UnixMicro()), Member: channel})
		}
		p := r.Pipeline()
		p.ZAdd(ctx, keys.Queue, queue...)
		p.ZAdd(ctx, keys.Asked, asked...)
		p.PExpire(ctx, keys.Queue, script.QueueTTL)
		p.PExpire(ctx, keys.Asked, script.QueueTTL)
		_, err := p.Exec(ctx)
		must(d, err)
	}
}

// live subscribes to each of the channels on all masters.
func (d *deployment) live(channels []string) {
	d.Helper()
	for _, r := range d.direct {
		s := r.Subscribe(context.Background())
		d.Cleanup(func() { _ = s.Close() })
		for at := 0; at < len(channels); at += portion {
			some := channels[at:min(at+portion, len(channels))]
			must(d, s.Subscribe(context.Background(), some...))
			for range some {
				_, err := s.Receive(context.Background())
				must(d, err)
			}
		}
		go func() { // otherwise messages would fill the master's buffer
			for range s.Channel() {
			}
		}()
	}
}

// waiters makes two real clients hand a name to each other. Behind them in the queue are n entries.
func waiters(t testing.TB, n int, length time.Duration) map[string]float64 {
	d := deploy(t)
	others := entries(n)
	d.live(others)
	for _, r := range d.direct {
		d.join(r, others, late)
	}
	r := newRelay(d)
	var took []time.Duration
	_, mastersCPU := d.costs(func() {
		for end := time.Now().Add(length); len(took) == 0 || time.Now().Before(end); {
			for _, r := range d.direct { // an entry that was called has left the queue, and does not return
				in, err := r.ZCount(context.Background(), keys.Queue, fmt.Sprint(late), "+inf").Result()
				must(t, err)
				if int(in) < n {
					d.join(r, others[:min(portion, n)], late)
				}
			}
			r.wait()
			took = append(took, r.hand())
		}
	})
	return map[string]float64{
		"p50-ms": millis(workload.Quantile(took, .5), 1), "p99-ms": millis(workload.Quantile(took, .99), 1),
		"masters-µs/hand-over": micros(mastersCPU, len(took)),
	}
}

// deadWaiters puts n dead waiters before a live one. A release skips dead waiters in batches.
func deadWaiters(t testing.TB, n int, _ time.Duration) map[string]float64 {
	ctx := context.Background()
	d := deploy(t)
	r := newRelay(d)
	r.wait()
	for _, c := range d.direct {
		d.join(c, entries(n), early)
		must(t, c.ConfigSet(ctx, "slowlog-max-len", "100000").Err())
		must(t, c.ConfigSet(ctx, "slowlog-log-slower-than", "0").Err())
	}
	handOver := r.hand()
	var scripts []time.Duration
	for _, c := range d.direct {
		log, err := c.SlowLogGet(ctx, 100_000).Result()
		must(t, err)
		for _, entry := range log {
			if strings.EqualFold(entry.Args[0], "evalsha") {
				scripts = append(scripts, entry.Duration)
			}
		}
	}
	return map[string]float64{"script-p99-µs": micros(workload.Quantile(scripts, .99), 1), "µs/dead": micros(handOver, n)}
}

// relay is two clients that hand a name to each other.
type relay struct {
	d        *deployment
	holder   *redlock.Lock
	clients  [2]*redlock.Client
	next     int // the index of the client that waits next
	acquired chan handed
}

type handed struct {
	lock *redlock.Lock
	at   time.Time
	err  error
}

// newRelay returns a relay whose first client holds the name.
func newRelay(d *deployment) *relay {
	d.Helper()
	r := &relay{d: d, next: 1, acquired: make(chan handed, 1)}
	for i := range r.clients {
		r.clients[i] = d.open()
	}
	var err error
	r.holder, err = r.clients[0].Lock(context.Background(), name, redlock.WithWait(patience))
	must(d, err)
	return r
}

// wait makes the other client wait, and returns when that client is in the queues of a quorum.
func (r *relay) wait() {
	r.d.Helper()
	c := r.clients[r.next]
	r.next = 1 - r.next
	go func() {
		lock, err := c.Lock(context.Background(), name, redlock.WithWait(patience))
		r.acquired <- handed{lock, time.Now(), err}
	}()
	until(r.d, "it stands in the queues of a quorum", func() bool {
		return r.d.each(func(c *redis.Client) (float64, error) {
			n, err := c.ZCount(context.Background(), keys.Queue, fmt.Sprint(early+1e14), fmt.Sprint(late-1)).Result()
			return float64(n), err
		}) > .5
	})
}

// hand releases the lock, and returns the time until the other client acquired it.
func (r *relay) hand() time.Duration {
	r.d.Helper()
	begun := time.Now()
	must(r.d, r.holder.Unlock(context.Background()))
	h := <-r.acquired
	must(r.d, h.err)
	r.holder = h.lock
	return h.at.Sub(begun)
}
