package scripts_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// What a master grants of a group, by what is there: the script itself, on both kinds of master.
func TestJoint(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) { harness.InVirtualTime(t, 1, joint) })
	t.Run("redis", func(t *testing.T) { joint(t, harness.Processes(t, 1, redisproc.Config{})) })
}

func joint(t *testing.T, d *harness.Deployment) {
	c := d.Reached()
	r, v := d.Raw[0], harness.Inside(c).Members.View()
	sub := r.Subscribe(context.Background(), "here")
	defer sub.Close()
	_, err := sub.Receive(context.Background())
	harness.Must(t, err)
	if !d.Virtual {
		go func() {
			for range sub.Channel() {
			}
		}()
	}
	run := 0
	check := func(what, want string, groups []int, before func(holds []*lease.Owner)) {
		t.Helper()
		run++
		terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
		var calls []script.Call
		var holds []*lease.Owner
		for i, group := range groups {
			owner := fmt.Sprintf("owner-%d-%d", run, i)
			h := &lease.Owner{ID: owner, Keys: script.KeysOf(limits.DefaultPrefix, fmt.Sprintf("%d-%d", run, i), owner)}
			holds, calls = append(holds, h), append(calls, h.JointCall(terms, group))
		}
		before(holds)
		replies, err := harness.RunBatchAt(script.BatchSource, r, v.Version, calls...)
		harness.Must(t, err)
		got := ""
		for i, reply := range replies {
			number, done := reply.(int64)
			vote := calls[i].Read(number)
			said := vote.Answer.String()
			switch {
			case !done:
				said = fmt.Sprint(reply)
			case vote.Err == script.ErrWithheld:
				said = "withheld"
			case vote.Grant == 7:
				said = "7"
			}
			got += " " + said
		}
		if got[1:] != want {
			t.Errorf("%s: %s, want %s", what, got[1:], want)
		}
	}
	for _, c := range []struct {
		what   string
		groups []int // of the operations for a, b and c
		want   string
	}{
		{"all are free", []int{3, 0, 0}, "granted granted granted"},
		{"the tail is missing", []int{4, 0, 0}, "withheld withheld withheld"},
		{"the head is missing", []int{0, 0, 0}, "withheld withheld withheld"},
		{"another begins before the end", []int{3, 0, 1}, "withheld withheld granted"},
		{"the head of the second group is missing", []int{1, 0, 0}, "granted withheld withheld"},
		{"two groups", []int{1, 2, 0}, "granted granted granted"},
	} {
		check(c.what, c.want, c.groups, func([]*lease.Owner) {})
	}
	put := func(value string) func(h *lease.Owner) {
		return func(h *lease.Owner) {
			harness.Must(t, r.Set(context.Background(), h.Keys.Lock, value, limits.DefaultTTL).Err())
		}
	}
	for _, c := range []struct {
		what     string
		before   func(h *lease.Owner) // what is there of one of them, whichever that is
		own, all string               // what is answered for that one, and for the others
	}{
		{"it is held", put("x 1 7 "), "held", "withheld"},
		{"it is the owner's: the group comes again", func(h *lease.Owner) { put(h.ID + " 1 7 ")(h) }, "7", "granted"},
		{"its owner gave up", func(h *lease.Owner) {
			harness.Must(t, r.Set(context.Background(), h.Keys.Gone, "", limits.DefaultTTL).Err())
		}, "withheld", "withheld"},
		{"it is kept for one that waits", put(" here"), "held", "withheld"},
		{"another has it for reading", func(h *lease.Owner) {
			harness.Must(t, r.ZAdd(context.Background(), h.Keys.Lock, redis.Z{Score: float64(time.Now().Add(limits.DefaultTTL).UnixMilli()), Member: "x"}).Err())
		}, "held", "withheld"},
		{"it has a queue, and nobody in it hears", func(h *lease.Owner) {
			harness.Must(t, r.Do(context.Background(), "zadd", h.Keys.Queue, 1, "gone").Err())
		}, "granted", "granted"},
		{"it has a queue: who is first is called", func(h *lease.Owner) {
			harness.Must(t, r.Do(context.Background(), "zadd", h.Keys.Queue, 1, "here").Err())
		}, "held", "withheld"},
	} {
		for at := range 3 {
			want := slices.Repeat([]string{c.all}, 3)
			want[at] = c.own
			check(fmt.Sprintf("of %d, %s", at+1, c.what), strings.Join(want, " "), []int{3, 0, 0}, func(holds []*lease.Owner) { c.before(holds[at]) })
		}
	}
}
