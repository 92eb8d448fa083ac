package waitqueue

import (
	"testing"
	"time"
)

// attempt is one for tests, want what a waiter wants.
type (
	attempt struct{ n int }
	want    struct{}
)

type queues = Queues[want, attempt]

// An attempt that was handed over is concluded before there is another: one that is forgotten
// leaves what it was granted.
func TestNoHandedAttemptIsForgotten(t *testing.T) {
	t.Parallel()
	var q queues
	w := q.Join("job", want{}, false, Ticket{})
	first := &attempt{1}
	q.Block("job")
	q.Block("job")
	if next, _ := q.Next("job"); next != nil {
		t.Error("handed over while another hold has the name")
	}
	q.Block("job")
	q.Unblock("job")
	if next, _ := q.Next("job"); next != w {
		t.Fatal("not promised")
	}
	q.Block("job")
	if next, _ := q.Next("job"); next != nil {
		t.Error("promised twice")
	}
	if !q.Hand(w, first) {
		t.Fatal("not handed over")
	}
	q.Block("job")
	if next, _ := q.Next("job"); next != nil {
		t.Error("handed over twice")
	}
	if turn := q.TurnOf(w); turn.Handed != first || !turn.Ask {
		t.Errorf("the waiter is told %+v", turn)
	}
	q.Block("job")
	if next, _ := q.Next("job"); next != nil {
		t.Error("handed over while the waiter has an attempt")
	}
}

// Calls that come while a handed attempt is under way are for the next one.
func TestCallsOutliveAHandedAttempt(t *testing.T) {
	t.Parallel()
	var q queues
	w := q.Join("job", want{}, false, Ticket{})
	q.Block("job")
	q.Next("job")
	q.Hand(w, &attempt{})
	for master := range 2 {
		q.Notice("job", master, 2, func() { t.Error("unwanted") })
	}
	<-q.Woken(w) // one for all
	if turn := q.TurnOf(w); turn.Handed == nil {
		t.Fatal("nothing was handed over")
	}
	select {
	case <-q.Woken(w):
	case <-time.After(time.Second):
		t.Error("nobody wakes the waiter for what it was called")
	}
	if got := q.Calls(w); got != 2 {
		t.Errorf("%d calls are left of 2", got)
	}
}

// A waiter does not ask while an attempt is being made for it. When it leaves before that is there,
// the attempt is not taken, and the next one is woken.
func TestWhoIsPromisedAnAttempt(t *testing.T) {
	t.Parallel()
	var q queues
	first, second := q.Join("job", want{}, false, Ticket{}), q.Join("job", want{}, false, Ticket{})
	q.Block("job")
	if turn := q.TurnOf(first); turn.Ask || !turn.Blocked {
		t.Fatalf("while the name is blocked: %+v", turn)
	}
	next, _ := q.Next("job")
	if next != first {
		t.Fatal("not the first's turn")
	}
	if turn := q.TurnOf(first); turn.Ask || turn.Handed != nil {
		t.Errorf("it is promised an attempt: %+v", turn)
	}
	first.EverAsked = true
	if untaken := q.Leave(first, false, func(bool, *attempt) { t.Error("another is left") }); untaken != nil {
		t.Error("nothing was handed")
	}
	if q.Hand(first, &attempt{}) {
		t.Error("handed to one that has left")
	}
	select {
	case <-q.Woken(second):
	case <-time.After(time.Second):
		t.Fatal("nobody wakes the next one")
	}
	if turn := q.TurnOf(second); !turn.Ask || turn.Inherited {
		t.Errorf("the next one is told %+v", turn)
	}
}

// A call wakes the first waiter when it is the first one, and when enough masters have called. What
// nobody wants who may ask is told, so that no master keeps the lock for it.
func TestCallsWakeTheFirstWaiter(t *testing.T) {
	t.Parallel()
	var q queues
	unwanted := 0
	notice := func(master int) { q.Notice("job", master, 3, func() { unwanted++ }) }
	if notice(0); unwanted != 1 {
		t.Error("a call for nobody is not told")
	}
	first, second := q.Join("job", want{}, false, Ticket{}), q.Join("job", want{}, false, Ticket{})
	q.Block("job")
	if notice(0); unwanted != 2 {
		t.Error("a call for a name that is blocked is not told")
	}
	q.Unblock("job")
	q.TurnOf(first)
	woken := func(w *Waiter[want, attempt]) bool {
		select {
		case <-q.Woken(w):
			return true
		default:
			return false
		}
	}
	woken(first) // by Unblock
	for master, want := range []bool{true, false, true, false} {
		for _, again := range []bool{false, true} {
			if notice(master); woken(first) != (want && !again) {
				t.Errorf("call %d, again %v: woken is not %v", master+1, again, want && !again)
			}
		}
	}
	if got := q.Calls(first); got != 4 || unwanted != 2 || woken(second) {
		t.Errorf("%d calls of 4, %d unwanted of 2, the second woken", got, unwanted)
	}
}

// Who waits next has the place of one that asked and gave up, with the calls that came for that,
// and asks at once if there are any.
func TestTheNextOneInheritsThePlace(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim                          string
		served, asked, blocked, handed bool
		calls                          int
		inherits, early                bool
	}{
		{claim: "it gave up", asked: true, inherits: true, early: true},
		{claim: "… and was called", asked: true, calls: 2, inherits: true},
		{claim: "… and never asked"},
		{claim: "… while the name is blocked", asked: true, blocked: true},
		{claim: "… with an attempt that was handed to it", asked: true, handed: true},
		{claim: "it was served", asked: true, served: true},
	} {
		var q queues
		w, next := q.Join("job", want{}, false, Ticket{}), q.Join("job", want{}, false, TicketOf("9"))
		if x.handed {
			q.Block("job")
			q.Next("job")
			q.Hand(w, &attempt{})
		}
		w.Ticket, w.EverAsked, w.Last = TicketOf("5"), x.asked, &attempt{}
		for master := range x.calls {
			q.Notice("job", master, 3, nil)
		}
		if x.blocked {
			q.Block("job")
		}
		q.Leave(w, x.served, nil)
		if got := next.Ticket.String() == "5"; got != x.inherits || (next.Last != nil) != x.inherits || (w.Last == nil) != x.inherits {
			t.Errorf("%s: the next one has ticket %v, last %v", x.claim, next.Ticket, next.Last)
		}
		if got := q.Calls(next); got != x.calls {
			t.Errorf("%s: the next one has %d calls, want %d", x.claim, got, x.calls)
		}
		if turn := q.TurnOf(next); turn.Inherited != x.early || turn.Ask == x.blocked {
			t.Errorf("%s: the next one is told %+v", x.claim, turn)
		}
	}
}

// Readers behind one that was served ask along, and so do those that come then, up to the first
// writer; but not who was refused.
func TestReadersAskAlong(t *testing.T) {
	t.Parallel()
	var q queues
	var w [6]*Waiter[want, attempt]
	for i := range w {
		if w[i] = q.Join("job", want{}, i != 4, Ticket{}); i == 2 {
			q.Leave(w[0], true, nil)
		}
	}
	q.Failed(w[2], nil)
	for i, want := range []Turn[attempt]{{Ask: true}, {}, {Ask: true, Along: true}, {}, {}} {
		if got := q.TurnOf(w[i+1]); got != want {
			t.Errorf("waiter %d is told %+v", i+1, got)
		}
	}
}
