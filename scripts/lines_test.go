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
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// lineOf is a lock on a server, and those in line for it.
type lineOf struct {
	t *testing.T
	r *redis.Client
	k script.Keys
}

// newLine makes server r a member, with the lock "job" as told by lock: a value, or "readers" and
// for each its name and for how many seconds it has the lock. Those in line are called by their
// channels, of one letter each; those with a capital are to read.
func newLine(t *testing.T, r *redis.Client, lock, line string) lineOf {
	t.Helper()
	harness.Must(t, r.FlushAll(context.Background()).Err())
	harness.Must(t, memberOfOne(r))
	l := lineOf{t, r, script.KeysOf(limits.DefaultPrefix, "job", "o")}
	harness.Must(t, r.Set(context.Background(), l.k.Fence, 7, 0).Err())
	if readers, ok := strings.CutPrefix(lock, "readers "); ok {
		now, err := r.Time(context.Background()).Result()
		harness.Must(t, err)
		for word := range strings.FieldsSeq(readers) {
			var ends int64
			_, err := fmt.Sscan(word[1:], &ends)
			harness.Must(t, err)
			harness.Must(t, r.ZAdd(context.Background(), l.k.Lock, redis.Z{Score: float64(now.UnixMilli() + ends*1000), Member: word[:1]}).Err())
		}
	} else if lock != "" {
		harness.Must(t, r.Set(context.Background(), l.k.Lock, lock, time.Minute).Err())
	}
	for i, channel := range strings.Fields(line) {
		ticket := 1.5e15 + float64(i)
		if channel < "a" {
			ticket += 0.5
		}
		harness.Must(t, r.ZAdd(context.Background(), l.k.Queue, redis.Z{Score: ticket, Member: channel}).Err())
	}
	return l
}

// do runs an operation: its name, its owner, or for leave its channel, and for one that waits its
// channel. Behind "gone", the owner has given up here before.
func (l lineOf) do(operation string) (reply any) {
	l.t.Helper()
	operation, gaveUp := strings.CutPrefix(operation, "gone ")
	if gaveUp {
		harness.Must(l.t, l.r.Set(context.Background(), l.k.Gone, "", time.Minute).Err())
	}
	words := strings.Fields(operation)
	who, in := words[1], lease.Place{}
	if len(words) > 2 {
		in = lease.Place{Channel: &words[2], Ticket: waitqueue.TicketOf("1600000000000000")}
	}
	owner := lease.Owner{ID: who, Keys: l.k, Token: 9}
	terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
	var call script.Call
	switch words[0] {
	case "release":
		call = owner.ReleaseCall()
	case "pass":
		call = owner.PassCall(in.Channel)
	case "undo":
		call = owner.UndoCall(0, lease.Place{})
	case "linger":
		call = owner.LingerCall(limits.DefaultTTL, 0)
	case "leave":
		call = script.Leave.Call([]*string{&l.k.Lock, &l.k.Queue, &l.k.Asked}, &who)
	case "share":
		owner.Reads.Store(true)
		call = owner.AcquireCall(terms, in)
	case "acquire":
		call = owner.AcquireCall(terms, in)
	case "repair":
		call = owner.RepairCall(1, terms)
	}
	replies, err := harness.RunBatchAt(script.BatchSource, l.r, "1", call)
	harness.Must(l.t, err)
	return replies[0]
}

// stands is the value of the lock, or who reads.
func (l lineOf) stands() string {
	l.t.Helper()
	if value, err := l.r.Get(context.Background(), l.k.Lock).Result(); err == nil {
		return value
	}
	all, err := l.r.ZRange(context.Background(), l.k.Lock, 0, -1).Result()
	harness.Must(l.t, err)
	slices.Sort(all)
	return strings.Join(all, "")
}

// Who in line is told what, and for whom the lock is kept then.
func TestWhoInLineIsTold(t *testing.T) {
	t.Parallel()
	const held, lingers = "o 1 7 7+", "- o 7 7"
	for kind, r := range bothKinds(t) {
		hear := strings.Split("a b c d A B C D end", " ")
		sub := r.Subscribe(context.Background(), hear...)
		t.Cleanup(func() { _ = sub.Close() })
		for range hear {
			_, err := sub.Receive(context.Background())
			harness.Must(t, err)
		}
		for _, x := range []struct{ claim, lock, line, operation, told, stands string }{
			{"a release calls the first, and the next one stands by", held, "a b c", "release o", "a called, b stands by", " a"},
			{"who does not hear is passed", held, "x a y b c", "release o", "a called, b stands by", " a"},
			{"nobody waits", held, "", "release o", "", ""},
			{"nobody waits that hears", held, "x y", "release o", "", ""},
			{"one reader", held, "A b", "release o", "A called, b stands by", " {read}A"},
			{"readers up to a writer", held, "A B c D", "release o", "A called, B called, c stands by", " {read}"},
			{"readers alone", held, "A B C", "release o", "A called, B called, C called", " {read}"},
			{"a lock that lingers is told to two", held, "a b c", "linger o", "a called, b called", "- o 7 7"},
			{"one that was told may leave", lingers, "b c d", "leave a", "b called, c called", "- o 7 7"},
			{"who was called does not come", " a", "b c", "leave a", "b called, c stands by", " b"},
			{"another leaves", " a", "B c", "leave d", "", " a"},
			{"a reader that was called does not come", " {read}A", "b c", "leave A", "b called, c stands by", " b"},
			{"a writer leaves that stood before readers", " {read}A", "B c", "leave d", "B called", " {read}"},
			{"and none stood behind", " {read}A", "b", "leave d", "", " {read}A"},
			{"a writer leaves, readers have the lock", "readers p9", "A b", "leave d", "A called", "p"},
			{"nobody has the lock", "", "a b", "leave d", "a called, b stands by", " a"},
			{"the last reader leaves", "readers o9", "a b", "undo o", "a called, b stands by", " a"},
			{"others read for as long", "readers o9 p9", "a b", "undo o", "", "p"},
			{"others read for longer", "readers o9 p20", "a b", "undo o", "", "p"},
			{"it would have read for longest", "readers o20 p9", "a b", "undo o", "a stands by", "p"},
			{"a reader comes, and readers wait", "readers p9", "A B", "share o C", "A called, B called", "op"},
			{"a reader comes, and a writer waits", "readers p9", "a B", "share o C", "", "p"},
			{"and it does not hear", "readers p9", "x B", "share o C", "B called", "op"},
			{"one that stood in line itself", "readers p9", "C", "share o C", "", "op"},
			{"a reader that was called comes", " {read}A", "b", "share o A", "", "o"},
			{"one of those that were called", " {read}", "", "share o A", "", "o"},
			{"one that came after a writer", " {read}", "b", "share o A", "", " {read}"},
			{"an acquisition that is given back calls as well", held, "a b", "undo o", "a called, b stands by", " a"},
			{"and nobody where nobody waited", "o 1 7 7", "a", "undo o", "", ""},
			{"the lock is kept for a caller of the same client", held, "a b", "pass o d", "", " d"},
			{"but not where nobody waits", held, "", "pass o d", "", ""},

			{"a lock that is kept for a writer", " a", "", "share o C", "", " a"},
			{"it was called as a writer, and reads", " A", "", "share o A", "", "o"},
			{"a lock that is kept for a reader", " {read}A", "", "share o C", "", "o"},
			{"behind a writer", " {read}A", "b", "share o C", "", " {read}A"},
			{"one that gave up", " {read}A", "", "gone share o", "", " {read}A"},
			{"one that gave up, and others read", "readers p9", "", "gone share o", "", "p"},
			{"one that gave up, and waits", " {read}A", "", "gone share o A", "", " {read}A"},
		} {
			l := newLine(t, r, x.lock, x.line)
			reply := l.do(x.operation)
			harness.Must(t, r.Publish(context.Background(), "end", "").Err())
			var told []string
			for {
				m, err := sub.ReceiveMessage(context.Background())
				harness.Must(t, err)
				if m.Channel == "end" {
					break
				}
				switch {
				case m.Payload == l.k.Lock:
					told = append(told, m.Channel+" called")
				case strings.HasPrefix(m.Payload, "standby "):
					told = append(told, m.Channel+" stands by")
				}
			}
			stands := l.stands()
			if got := strings.Join(told, ", "); got != x.told {
				t.Errorf("%s: %s (%v): %s: %q, want %q", kind, x.claim, reply, x.operation, got, x.told)
			}
			if stands != x.stands {
				t.Errorf("%s: %s (%v): after %s the lock is %q, want %q", kind, x.claim, reply, x.operation, stands, x.stands)
			}
		}
	}
}

// Readers whose time is over are taken out when the lock is looked at, a few at a time.
func TestReadersWhoseTimeIsOverLeave(t *testing.T) {
	t.Parallel()
	const over, few = 3 * script.MaxSteps, 16
	for kind, r := range bothKinds(t) {
		l := newLine(t, r, "readers p9", "")
		now, err := r.Time(context.Background()).Result()
		harness.Must(t, err)
		for i := range over {
			harness.Must(t, r.ZAdd(context.Background(), l.k.Lock, redis.Z{Score: float64(now.UnixMilli() - 1000), Member: fmt.Sprint("over", i)}).Err())
		}
		left := func() int64 { return r.ZCard(context.Background(), l.k.Lock).Val() - 1 }
		l.do("share p")
		if n := over - left(); n != few {
			t.Errorf("%s: %d are taken out, want %d", kind, n, few)
		}
		reader := lease.Owner{ID: "p", Keys: l.k}
		reader.Reads.Store(true)
		calls := slices.Repeat([]script.Call{reader.AcquireCall(quorum.TermsOf(limits.DefaultTTL, 0, 0), lease.Place{})}, 2*script.MaxSteps/few)
		has := left()
		_, err = harness.RunBatchAt(script.BatchSource, r, "1", calls...)
		harness.Must(t, err)
		if n := has - left(); n != script.MaxSteps {
			t.Errorf("%s: a batch takes %d out, want %d", kind, n, script.MaxSteps)
		}
	}
}

// Who asks to write leaves the readers their time. Those that seem to have the lock for longer than
// anybody may are brought down to that, no more than a batch may; and nobody is told to wait for
// longer.
func TestWhoAsksLeavesReadersTheirTime(t *testing.T) {
	t.Parallel()
	const longest, many = 60_000, 2 * script.MaxSteps // ms, as the table says
	for kind, r := range bothKinds(t) {
		l := newLine(t, r, "readers p40 q50", "")
		before := r.ZRangeWithScores(context.Background(), l.k.Lock, 0, -1).Val()
		for _, ask := range []string{"acquire o", "acquire o a"} {
			reply := l.do(ask).(int64)
			if after := r.ZRangeWithScores(context.Background(), l.k.Lock, 0, -1).Val(); !slices.Equal(before, after) {
				t.Errorf("%s: %s makes %v of %v", kind, ask, after, before)
			}
			if left := -1 - reply; left < 40_000 || left > 50_000 {
				t.Errorf("%s: %s is told to wait for %d ms, want 50 s", kind, ask, left)
			}
		}

		l = newLine(t, r, "", "")
		now, err := r.Time(context.Background()).Result()
		harness.Must(t, err)
		for i := range many {
			harness.Must(t, r.ZAdd(context.Background(), l.k.Lock, redis.Z{Score: float64(now.UnixMilli() + 3_600_000), Member: fmt.Sprint("future", i)}).Err())
		}
		if left := -1 - l.do("acquire o").(int64); left != longest {
			t.Errorf("%s: who asks is told to wait for %d ms, want %d", kind, left, longest)
		}
		n := 0
		for _, reader := range r.ZRangeWithScores(context.Background(), l.k.Lock, 0, -1).Val() {
			if reader.Score > float64(now.UnixMilli()+3_000_000) {
				n++
			}
		}
		if n != many-script.MaxSteps {
			t.Errorf("%s: %d readers of the future are left, want %d", kind, n, many-script.MaxSteps)
		}
	}
}

// A repair replies the grant number of the lock that is there, which the client may not know, and
// confirms it; or the token, with which it writes the lock.
func TestARepairRepliesTheGrant(t *testing.T) {
	t.Parallel()
	for kind, r := range bothKinds(t) {
		for _, x := range []struct{ claim, lock, reply, stands string }{
			{"granted, and not confirmed", "o 1 7 ", "7", "o 1 7 9"},
			{"confirmed", "o 1 7 9", "7", "o 1 7 9"},
			{"it has the token", "o 1 9 9+", "9", "o 1 9 9+"},
			{"lost", "", "9", "o 1 9 +"},
			{"kept for one that waits", " a", "9", "o 1 9 +"},
			{"another's", "p 1 7 7", "0", "p 1 7 7"},
			{"it lingers", "- p 7 7", "0", "- p 7 7"},
			{"it became a reader", "readers o20", "1", "o"},
			{"readers have it", "readers p20", "0", "p"},
		} {
			l := newLine(t, r, x.lock, "")
			if got := fmt.Sprint(l.do("repair o")); got != x.reply || l.stands() != x.stands {
				t.Errorf("%s: %s: a repair is answered %s, and then the lock is %q; want %s and %q", kind, x.claim, got, l.stands(), x.reply, x.stands)
			}
			if counter := r.Get(context.Background(), l.k.Fence).Val(); (counter == "9") != (x.reply != "0" && x.reply != "1") {
				t.Errorf("%s: %s: the counter is at %s", kind, x.claim, counter)
			}
		}
		l := newLine(t, r, "o 1 7 ", "")
		harness.Must(t, r.Del(context.Background(), l.k.Fence).Err())
		if got := fmt.Sprint(l.do("repair o")); !strings.Contains(got, "NOTMEMBER") {
			t.Errorf("%s: a repair where the counter is lost is answered %s", kind, got)
		}
	}
}
