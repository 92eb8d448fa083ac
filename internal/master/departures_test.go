package master

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/script"
)

// A master's links leave connections in a small pool for other users.
func TestWidth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pool, active, want int }{
		{0, 0, 1}, {1, 0, 1}, {3, 0, 1}, {4, 0, 2}, {10, 0, 5}, {1024, 0, maxLinks}, {1024, 6, 3},
	} {
		if got := widthOf(&redis.Options{PoolSize: c.pool, MaxActiveConns: c.active}); got != c.want {
			t.Errorf("widthOf(pool %d, active %d) = %d, want %d", c.pool, c.active, got, c.want)
		}
	}
}

// down returns a master that does not answer. The test takes the requests from its queue itself.
func down(t *testing.T, now *clock.Instant) *Master {
	r := redis.NewClient(&redis.Options{PoolSize: 4, Dialer: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("down") // by default it would dial localhost, whose lookup a test outside the bubble may share
	}})
	t.Cleanup(func() { _ = r.Close() })
	m := New(Config{
		Endpoint: Endpoint{Redis: r}, Now: func() clock.Instant { return *now },
		Gate: openGate{}, Up: func() {}, Down: func(error) {},
	})
	m.health.downErr, m.health.downTill, m.health.failedAt = errors.New("down"), now.Add(time.Hour), *now
	return m
}

func orders(batch []*Request) (all string) {
	for _, r := range batch {
		all += r.Order
	}
	return all
}

func requests(all string) (these []*Request) {
	for _, order := range all {
		these = append(these, &Request{Order: string(order), To: answerInto{new(script.Vote)}})
	}
	return these
}

// Several batches can be in flight, but never two batches with requests of the same Order. A request waits for
// the batch with a request of the same Order, and then leaves before later requests.
func TestBatchesInFlight(t *testing.T) {
	t.Parallel()
	now := clock.Instant(1)
	m := down(t, &now)
	m.trip, m.recent = farTrip, farTrip
	var links []*link
	leaves := func(want string) {
		t.Helper()
		now = now.Add(m.gap())
		l, pause := m.room()
		if l == nil {
			t.Fatalf("no room, for %v", pause)
		}
		batch := m.take(l)
		if got := orders(batch); got != want {
			t.Fatalf("what leaves is %q, want %q", got, want)
		}
		if len(batch) > 0 {
			links = append(links, l)
		}
	}
	counts := func(pending, unanswered, inFlight int) {
		t.Helper()
		if got := [3]int{m.Pending(), m.Unanswered(), m.inFlight}; got != [3]int{pending, unanswered, inFlight} {
			t.Errorf("pending, unanswered, in flight: %v, want %d, %d, %d", got, pending, unanswered, inFlight)
		}
	}
	m.Submit(requests("a")[0], requests("b")[0])
	m.Submit(requests("a")...)
	leaves("aba")
	counts(3, 1, 1)
	m.Submit(requests("c")...)
	if l, pause := m.room(); l != nil || pause != m.gap() {
		t.Errorf("at once after a batch there is room: %v, in %v", l, pause)
	}
	m.Submit(requests("a")...)
	m.Submit(requests("a")...)
	m.Submit(requests("ef")...)
	leaves("cef")
	counts(8, 4, 2)
	if l, pause := m.room(); l != nil || pause != 0 {
		t.Errorf("beyond the width there is room: %v, in %v", l, pause)
	}
	m.carry(links[1], links[1].batch)
	counts(5, 3, 1)
	m.Submit(requests("bg")...)
	leaves("g")
	m.carry(links[2], links[2].batch)
	leaves("")
	counts(6, 4, 1)
	m.Submit(requests("a")...)
	m.carry(links[0], links[0].batch)
	counts(4, 4, 0)
	leaves("aaba")
	counts(4, 1, 1)
}

// Replace replaces a request that is queued, or that waits for a batch with the same Order. It does not replace a
// request that was sent.
func TestReplace(t *testing.T) {
	t.Parallel()
	now := clock.Instant(1)
	m := down(t, &now)
	m.trip, m.recent = farTrip, farTrip
	a, b := answered("a"), answered("b")
	next := func() *link {
		now = now.Add(m.gap())
		l, _ := m.room()
		m.take(l)
		return l
	}
	leaves := func(l *link, want ...*recorder) {
		t.Helper()
		if len(l.batch) != len(want) {
			t.Fatalf("%d requests left, want %d", len(l.batch), len(want))
		}
		for i, r := range want {
			if l.batch[i] != &r.Request {
				t.Errorf("request %d to leave is of order %s, and another than it should be", i, l.batch[i].Order)
			}
			if r.votes != 0 {
				t.Errorf("request %d was answered before it left", i)
			}
		}
	}
	m.Submit(&a.Request, &b.Request)
	second, third := answered("a"), answered("a")
	m.Replace(&a.Request, &second.Request)
	m.Replace(&second.Request, &third.Request)
	if a.votes != 1 || second.votes != 1 || a.vote.Err != errReplaced || second.vote.Answer != script.Refused {
		t.Errorf("replaced requests were answered %d and %d times: %+v, %+v", a.votes, second.votes, a.vote, second.vote)
	}
	first := next()
	leaves(first, third, b)

	fourth, c, fifth := answered("a"), answered("c"), answered("a")
	m.Replace(&third.Request, &fourth.Request) // third has left
	m.Submit(&c.Request)
	leaves(next(), c)
	m.Replace(&fourth.Request, &fifth.Request) // fourth waits for the batch with the first
	if third.votes != 0 || fourth.votes != 1 {
		t.Errorf("a sent request was answered %d times, and one behind it %d", third.votes, fourth.votes)
	}
	late := answered("d")
	m.Submit(&late.Request)
	m.carry(first, first.batch)
	leaves(next(), fifth, late)
}

type recorder struct {
	Request
	vote  script.Vote
	votes int
}

func (*recorder) MaySend(int) bool              { return true }
func (r *recorder) Answer(_ int, v script.Vote) { r.vote = v; r.votes++ }

func answered(order string) *recorder {
	r := &recorder{Request: Request{Order: order}}
	r.To = r
	return r
}

// A batch has at most maxBatch requests, and the rest is sent next, in order.
func TestBatchSize(t *testing.T) {
	t.Parallel()
	now := clock.Instant(1)
	m := down(t, &now)
	for range maxBatch {
		m.Submit(requests("a")...)
	}
	m.Submit(requests("bc")...)
	l := &link{master: m}
	if first := orders(m.take(l)); first != strings.Repeat("a", maxBatch) {
		t.Errorf("%d leave first: %s", len(first), first)
	}
	if next := orders(m.take(l)); next != "bc" {
		t.Errorf("then leaves %q", next)
	}
}

// Requests with First, and the requests that are submitted together with them, are sent before all others. Among
// themselves, they keep the order of the calls of Submit.
func TestQueueOrder(t *testing.T) {
	t.Parallel()
	now := clock.Instant(1)
	m := down(t, &now)
	m.trip, m.recent = farTrip, farTrip
	first := func(all string) {
		these := requests(all)
		these[0].First = true
		m.Submit(these...)
	}
	waits := func(want string) {
		t.Helper()
		if got := orders(m.queue); got != want {
			t.Fatalf("the queue is %q, want %q", got, want)
		}
	}
	m.Submit(requests("a")...)
	m.Submit(requests("bc")...)
	first("d")
	m.Submit(requests("e")...)
	first("fg")
	waits("dfgabce")
	l, _ := m.room()
	m.take(l)
	first("h")
	waits("h")
	m.Submit(requests("i")...)
	first("a") // while a batch with a request of the same Order is under way
	waits("hai")
	now = now.Add(m.gap())
	other, _ := m.room()
	m.take(other)
	waits("")
	first("j")
	m.Submit(requests("k")...)
	m.carry(l, l.batch)
	first("l")
	waits("ajlk")
}

// Gathered requests are sent as one batch, and earlier requests do not wait for them.
func TestGather(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := clock.Instant(1)
		m := down(t, &now)
		left := make(chan string)
		go func() {
			for {
				l, batch, _ := m.next()
				if l == nil {
					close(left)
					return
				}
				left <- orders(batch)
				m.carry(l, batch)
			}
		}()
		leaves := func(when, want string) {
			t.Helper()
			synctest.Wait()
			select {
			case got := <-left:
				if got != want {
					t.Errorf("%s %q leaves, want %q", when, got, want)
				}
			default:
				if want != "" {
					t.Errorf("%s nothing leaves, want %q", when, want)
				}
			}
		}
		Gather([]*Master{m}, func() {
			m.Submit(requests("a")...)
			leaves("in the midst", "")
			Gather([]*Master{m}, func() { m.Submit(requests("b")...) })
			leaves("when another has gathered", "ab")
			m.Submit(requests("c")...)
			leaves("in the midst again", "")
		})
		leaves("when all is gathered", "c")

		first := requests("f")[0]
		first.First = true
		m.Submit(requests("w")...)
		synctest.Wait() // the next requests find a batch under way
		m.Submit(requests("x")...)
		Gather([]*Master{m}, func() {
			m.Submit(requests("a")...)
			m.Submit(first)
			leaves("before", "w")
			leaves("queued before", "x")
			m.Submit(requests("b")...)
			leaves("in the midst of a queue", "")
			if pending, unanswered := m.Pending(), m.Unanswered(); pending != 3 || unanswered != 3 {
				t.Errorf("pending, unanswered: %d, %d, want 3", pending, unanswered)
			}
		})
		leaves("when all is gathered again", "fab")
		m.Submit(requests("d")...)
		leaves("alone", "d")
		kept := requests("k")[0]
		kept.Until = now.Add(time.Hour)
		Gather([]*Master{m}, func() {
			m.Close()
			leaves("closing", "")
			m.Submit(kept)
		})
		leaves("at the end", "k")
		<-left
	})
}

// A request with Until is sent again after a pause, or at once when the master closes.
func TestKeptRequestsAreRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := clock.Instant(1)
		m := down(t, &now)
		for _, x := range []struct {
			slept   time.Duration
			closing bool
			pause   time.Duration
		}{
			{0, false, MaxRetry}, {MaxRetry / 2, false, MaxRetry / 2}, {MaxRetry, false, 0}, {2 * MaxRetry, false, 0}, {0, true, 0},
		} {
			m.queue, m.closing = nil, false
			kept := requests("k")[0]
			kept.Until = now.Add(time.Hour)
			m.answer(kept, script.Vote{Answer: script.Unknown})
			if m.Pending() != 1 {
				t.Fatal("it is not kept")
			}
			time.Sleep(x.slept)
			m.closing = x.closing
			if pause := m.revive(); pause != x.pause || (orders(m.queue) == "k") != (x.pause == 0) {
				t.Errorf("%+v: %q is queued, the pause is %v", x, orders(m.queue), pause)
			}
			if x.pause > 0 {
				m.retries = nil
			}
		}
	})
}
