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

// An attempt that was handed over is concluded before there is another: one that
// is forgotten leaves what it was granted.
func TestNoHandedAttemptIsForgotten(t *testing.T) {
	t.Parallel()
	var q queues
	w := q.Join("job", want{}, Ticket{})
	first := &attempt{1}
	q.Block("job")
	q.Block("job")
	if next, _ := q.Next("job"); next != nil {
		t.Error("handed over while another hold has the name")
	}
	q.Block("job")
	q.Unblock("job")
	if next, _ := q.Next("job"); next != w || !q.Hand(w, first) {
		t.Fatal("not handed over")
	}
	q.Block("job")
	if next, _ := q.Next("job"); next != nil {
		t.Error("handed over twice")
	}
	if turn := q.TurnOf(w); turn.Handed != first || !turn.Ask {
		t.Errorf("the waiter is told %+v", turn)
	}
}

// Calls that come while a handed attempt is under way are for the next one.
func TestCallsOutliveAHandedAttempt(t *testing.T) {
	t.Parallel()
	var q queues
	w := q.Join("job", want{}, Ticket{})
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

// A waiter does not ask while an attempt is being made for it. When it leaves before that
// is there, the attempt is not taken, and the next one is woken.
func TestWhoIsPromisedAnAttempt(t *testing.T) {
	t.Parallel()
	var q queues
	first, second := q.Join("job", want{}, Ticket{}), q.Join("job", want{}, Ticket{})
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
	if untaken := q.Leave(first, false, func(*attempt) { t.Error("another is left") }); untaken != nil {
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

// Who leaves with an attempt that was handed to it gives that back, and who is the last
// is told.
func TestWhoLeavesWithAnAttempt(t *testing.T) {
	t.Parallel()
	var q queues
	w := q.Join("job", want{}, Ticket{})
	q.Block("job")
	q.Next("job")
	a := &attempt{}
	q.Hand(w, a)
	told := 0
	untaken := q.Leave(w, false, func(untaken *attempt) {
		if told++; untaken != a {
			t.Error("told of another")
		}
	})
	if untaken != a || told != 1 {
		t.Errorf("left with %v, told %d times", untaken, told)
	}
	if len(q.byName) != 0 {
		t.Errorf("%d names are left", len(q.byName))
	}
}
