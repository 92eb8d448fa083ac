package redlock

import (
	"fmt"
	"testing"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// What a master grants of a group, by what is there: the script itself, on both kinds of
// master.
func TestJoint(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) { inVirtualTime(t, 1, joint) })
	t.Run("redis", func(t *testing.T) { joint(t, processes(t, 1, redisproc.Config{})) })
}

func joint(t *testing.T, d *deployment) {
	c := d.reached()
	r, v := d.raw[0], c.members.View()
	sub := r.Subscribe(background, "here")
	defer sub.Close()
	_, err := sub.Receive(background)
	must(t, err)
	if !d.virtual {
		go func() {
			for range sub.Channel() {
			}
		}()
	}
	run := 0
	for _, c := range []struct {
		what   string
		before func(b *hold)
		groups []int // of the operations for a, b and c
		want   string
	}{
		{"all are free", func(*hold) {}, []int{3, 0, 0}, "granted granted granted"},
		{"the second is held", func(b *hold) { must(t, r.Set(background, b.keys.Lock, "x 1 7 ", DefaultTTL).Err()) },
			[]int{3, 0, 0}, "withheld held withheld"},
		{"the second is the owner's: the group comes again", func(b *hold) {
			must(t, r.Set(background, b.keys.Lock, b.owner+" 1 7 ", DefaultTTL).Err())
		}, []int{3, 0, 0}, "granted 7 granted"},
		{"the owner of the second gave up", func(b *hold) { must(t, r.Set(background, b.keys.Gone, "", DefaultTTL).Err()) },
			[]int{3, 0, 0}, "withheld withheld withheld"},
		{"the second is kept for one that waits", func(b *hold) { must(t, r.Set(background, b.keys.Lock, " here", DefaultTTL).Err()) },
			[]int{3, 0, 0}, "withheld held withheld"},
		{"the second has a queue, and nobody in it hears", func(b *hold) {
			must(t, r.Do(background, "zadd", b.keys.Queue, 1, "gone").Err())
		}, []int{3, 0, 0}, "granted granted granted"},
		{"the second has a queue: who is first is called", func(b *hold) {
			must(t, r.Do(background, "zadd", b.keys.Queue, 1, "here").Err())
		}, []int{3, 0, 0}, "withheld held withheld"},
		{"the tail is missing", func(*hold) {}, []int{4, 0, 0}, "withheld withheld withheld"},
		{"the head is missing", func(*hold) {}, []int{0, 0, 0}, "withheld withheld withheld"},
		{"another begins before the end", func(*hold) {}, []int{3, 0, 1}, "withheld withheld granted"},
		{"the head of the second group is missing", func(*hold) {}, []int{1, 0, 0}, "granted withheld withheld"},
		{"two groups", func(*hold) {}, []int{1, 2, 0}, "granted granted granted"},
	} {
		run++
		terms := termsOf(DefaultTTL, 0, 0)
		var calls []script.Call
		var holds []*hold
		for i, group := range c.groups {
			owner := fmt.Sprintf("owner-%d-%d", run, i)
			h := &hold{owner: owner, keys: script.KeysOf(DefaultPrefix, fmt.Sprintf("%d-%d", run, i), owner)}
			holds, calls = append(holds, h), append(calls, h.jointCall(terms, group))
		}
		c.before(holds[1])
		replies, err := runBatchAt(script.BatchSource, r, v.Version, calls...)
		must(t, err)
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
		if got[1:] != c.want {
			t.Errorf("%s: %s, want %s", c.what, got[1:], c.want)
		}
	}
}
