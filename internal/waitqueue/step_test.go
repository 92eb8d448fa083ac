package waitqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/redlock-go/redlock/internal/clock"
)

type (
	want    struct{}
	attempt struct{}
)

// TestStep runs the scenarios of testdata/step: a line has events, and what the waiters that are awake
// do then.
// Five masters can call the client, and three are a quorum.
func TestStep(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/step", func(t *testing.T, d *datadriven.TestData) string {
		s := &scenario{now: clock.Instant(time.Hour)}
		s.notices = NewNotices(5, 3, func() clock.Instant { return s.now }, func(context.Context, int) {})
		defer s.notices.Close()
		s.subscribe(5)
		s.now++
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSpace(line)
			for event := range strings.SplitSeq(line, ";") {
				s.event(t, strings.Fields(event))
			}
			fmt.Fprintln(&out, strings.TrimRight(fmt.Sprintf("%-24s %s", line, strings.Join(s.stepAll(), "; ")), " "))
		}
		return out.String()
	})
}

type scenario struct {
	queues   Queues[want, attempt]
	notices  *Notices
	now      clock.Instant
	callers  []*caller
	live     int
	promised *Waiter[want, attempt] // the last promised waiter
	log      []string
}

// caller is a waiter, and the state of its goroutine.
type caller struct {
	*Waiter[want, attempt]
	name string
	step Step[attempt] // the last step
	runs bool          // it does not sleep, and does not wait for the masters
}

// subscribe sets the number of live subscriptions.
func (s *scenario) subscribe(live int) {
	for i := range 5 {
		if (i < live) != (i < s.live) {
			s.notices.Set(context.Background(), i, i < live)
		}
	}
	s.live = live
}

// event executes a line of a scenario: a verb and an object, or a caller, a verb and an object.
func (s *scenario) event(t *testing.T, words []string) {
	q, object := &s.queues, words[len(words)-1]
	pause, _ := time.ParseDuration(object)
	at := slices.IndexFunc(s.callers, func(c *caller) bool { return c.name == words[0] })
	if at >= 0 {
		words = words[1:]
	}
	switch words[0] {
	case "lock", "read":
		w := q.Join("job", want{}, words[0] == "read", Ticket{})
		s.callers = append(s.callers, &caller{Waiter: w, name: object, runs: true})
	case "fails", "fails-for-a-holder":
		c := s.callers[at]
		f := Failure{Err: errors.New("held"), Calls: c.step.Calls, Need: 3, AskAt: s.now.Add(pause)}
		if words[0] != "fails" {
			f.FindAt = s.now.Add(pause / 2)
		}
		s.notices.Listen(&c.Listener)
		q.Failed(c.Waiter, f)
		c.runs = true
	case "gives-up", "succeeds":
		c := s.callers[at]
		s.callers = slices.Delete(s.callers, at, at+1)
		if untaken := q.Leave(c.Waiter, words[0] == "succeeds", func(bool, *attempt) { s.log = append(s.log, "leave the masters' queues") }); untaken != nil {
			s.log = append(s.log, "cancel the attempt")
		}
		s.notices.Rest(&c.Listener)
	case "hold-begins":
		q.Block("job")
	case "hold-ends":
		q.Unblock("job")
	case "hold-hands-over":
		if s.promised, _ = q.Next("job"); s.promised != nil {
			s.log = append(s.log, "make an attempt")
		}
	case "made":
		if !q.Hand(s.promised, &attempt{}) {
			s.log = append(s.log, "nobody takes it")
		}
	case "not-made":
		q.Hand(s.promised, nil)
	case "called-by":
		for _, master := range words[1:] {
			m, err := strconv.Atoi(master)
			if err != nil {
				t.Fatal(err)
			}
			q.Notice("job", m, 3, s.now, func() { s.log = append(s.log, "reply that nobody waits") })
		}
	case "subscriptions":
		live, _ := strconv.Atoi(object)
		s.subscribe(live)
	case "after":
		s.now = s.now.Add(pause)
	default:
		t.Fatalf("unknown event %q", words)
	}
}

// stepAll makes each caller that is awake step, and returns what happens.
func (s *scenario) stepAll() []string {
	for _, c := range s.callers {
		select {
		case <-s.queues.Woken(c.Waiter):
			c.runs = c.runs || c.step.Action == Sleep
		case <-c.step.Reach:
			c.runs = true
		default:
			c.runs = c.runs || c.step.Action == Sleep && c.step.Until != 0 && !s.now.Before(c.step.Until)
		}
		for c.runs {
			c.step = s.queues.Step(c.Waiter, s.now, s.notices)
			c.runs = c.step.Action == FindHolder
			text := fmt.Sprintf("%s %v", c.name, c.step.Action)
			switch c.step.Action {
			case Ask, Conclude:
				c.Began, c.Asked, c.EverAsked, c.Reads = s.now, true, true, c.reads
			case Sleep:
				if c.step.Until != 0 {
					// Only a little of a random pause within Spread is left.
					text += fmt.Sprint(" ", (c.step.Until.Sub(s.now) + time.Millisecond - 1).Truncate(time.Millisecond))
				}
			}
			s.log = append(s.log, text)
		}
	}
	log := s.log
	s.log = nil
	return log
}
