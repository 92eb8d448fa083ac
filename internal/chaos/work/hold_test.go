package work

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

type fakeLease struct{ until time.Time }

func (*fakeLease) Context() context.Context { return context.Background() }
func (l *fakeLease) Until() time.Time       { return l.until }
func (*fakeLease) Valid() bool              { return true }

// The lease of a set ends as soon as the lease of one of its names ends. So the renewal of one name may prolong the
// lease of the whole set, and the new end is recorded for the other names, too.
func TestRenewalIsRecordedForWholeSet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := history.Create(dir+"/c0"+history.Ext, history.StartClock())
	if err != nil {
		t.Fatal(err)
	}
	h := &holds{calls: newRecorder(out, 0, 1)}
	set, other := &fakeLease{time.Now().Add(time.Minute)}, &fakeLease{}
	for name, l := range map[string]lease{"a": set, "b": set, "c": other} {
		e := entry{call: h.calls.call(history.Event{Name: name}), lease: l}
		e.of = e.known.Call
		h.begin(e)
	}
	h.renewed(redlock.Renewal{Hold: redlock.Hold{Name: "a"}})
	h.wait()
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	events, err := history.NewReader(dir).Read()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range events {
		if e.Kind == history.Renewed && e.Until > 30*time.Second {
			names = append(names, e.Name)
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("the renewal is recorded for %q, want a and b", names)
	}
}
