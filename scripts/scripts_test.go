package scripts_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// bothKinds returns a master of each kind.
func bothKinds(t *testing.T) map[string]*redis.Client {
	t.Helper()
	return besideRedis(t, embedded.New())
}

// besideRedis returns an embedded master, and one of redis-server, which has an AOF as the embedded
// one has.
func besideRedis(t *testing.T, fake *embedded.Server) map[string]*redis.Client {
	t.Helper()
	t.Cleanup(fake.Close)
	both := map[string]*redis.Client{"embedded": redis.NewClient(fake.Options()), "redis": harness.Processes(t, 1, redisproc.Config{AppendFsync: "everysec"}).Raw[0]}
	t.Cleanup(func() { _ = both["embedded"].Close() })
	return both
}

// holdsToCallFor returns a hold and one that reads, of the owner "mine" of "job", and a place in
// line, for the calls that are made of them.
func holdsToCallFor() (h, reader *lease.Owner, in lease.Place) {
	h = &lease.Owner{ID: "mine", Keys: script.KeysOf(limits.DefaultPrefix, "job", "mine"), Token: 1<<41 + 1, Last: 1<<41 + 1}
	reader = &lease.Owner{ID: "mine", Keys: h.Keys, Last: h.Last}
	reader.Reads.Store(true)
	channel := "channel"
	return h, reader, lease.Place{Channel: &channel, Ticket: waitqueue.TicketOf("1500000000000000")}
}

// What a voting member does, a member does at no other version than its own. What gives back is
// done at any.
func TestWhatNeedsAVote(t *testing.T) {
	t.Parallel()
	terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
	h, reader, in := holdsToCallFor()
	k, channel := h.Keys, *in.Channel
	votes := []script.Call{
		h.AcquireCall(terms, lease.Place{}), h.AcquireCall(terms, in), h.JointCall(terms, 1), h.ReenterCall(2, terms), h.ConfirmCall(1 << 41), h.ExtendCall(terms),
		h.RepairCall(1, terms), script.Verify.Call([]*string{&k.Lock}, uint64(1<<41)),
		reader.AcquireCall(terms, lease.Place{}), reader.AcquireCall(terms, in), reader.StayCall(terms), reader.ConfirmCall(0), reader.RepairCall(1, terms),
	}
	gives := []script.Call{
		h.ExitCall(1), h.ReleaseCall(), h.PassCall(&channel), h.UndoCall(lease.GoneTTL, lease.Place{}), h.UndoCall(0, in), h.LingerCall(5*time.Second, lease.GoneTTL),
		script.Leave.Call([]*string{&k.Lock, &k.Queue, &k.Asked}, &channel),
	}
	for kind, r := range bothKinds(t) {
		for _, value := range []string{"", fmt.Sprintf("mine 2 %d ", int64(1<<41)), " " + channel} {
			for _, c := range slices.Concat(votes, gives) {
				harness.Must(t, r.FlushAll(context.Background()).Err())
				harness.Must(t, memberOfOne(r))
				harness.Must(t, r.Set(context.Background(), k.Fence, int64(1)<<41, 0).Err())
				if value != "" {
					harness.Must(t, r.Set(context.Background(), k.Lock, value, 5*time.Second).Err())
				}
				replies, err := harness.RunBatchAt(script.BatchSource, r, "2", c)
				harness.Must(t, err)
				if _, done := replies[0].(int64); done != c.NoVote || !done && replies[0] != "VERSION 1" {
					t.Errorf("%s, the lock is %q: %s at another version is told %v", kind, value, c.Name, replies)
				}
				if c.NoVote {
					continue
				}
				now, ttl, counter := r.Get(context.Background(), k.Lock).Val(), r.PTTL(context.Background(), k.Lock).Val(), r.Get(context.Background(), k.Fence).Val()
				if others := r.Exists(context.Background(), k.Gone, k.Queue, k.Asked).Val(); now != value || ttl > 5*time.Second || counter != fmt.Sprint(int64(1)<<41) || others != 0 {
					t.Errorf("%s, the lock is %q: %s at another version leaves %q for %v, the counter %s and %d other keys", kind, value, c.Name, now, ttl, counter, others)
				}
			}
		}
	}
}

// The embedded masters stand in for Redis in virtual time: every script must say and leave behind
// the same on both.
func TestScriptsAreTheSameOnBothKindsOfMaster(t *testing.T) {
	t.Parallel()
	fake := embedded.New()
	t.Cleanup(fake.Close)
	both := []*redis.Client{redis.NewClient(fake.Options()), harness.Processes(t, 1, redisproc.Config{}).Raw[0]}
	t.Cleanup(func() { _ = both[0].Close() })
	for _, r := range both {
		sub := r.Subscribe(context.Background(), "x", "y")
		t.Cleanup(func() { _ = sub.Close() })
		for range 2 {
			_, err := sub.Receive(context.Background())
			harness.Must(t, err)
		}
		go func() {
			for range sub.Channel() { // so that nobody has to wait for us
			}
		}()
	}
	rapid.Check(t, func(t *rapid.T) {
		k := script.KeysOf(limits.DefaultPrefix, "job", "")
		for _, r := range both {
			if err := r.FlushAll(context.Background()).Err(); err != nil {
				t.Fatal(err)
			}
			if err := r.Set(context.Background(), k.Fence, 1000, 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
		for range rapid.IntRange(1, 25).Draw(t, "calls") {
			h := &lease.Owner{ID: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "owner"), Token: 1005, Last: 1005}
			h.Reads.Store(rapid.Bool().Draw(t, "reads"))
			h.Keys = script.KeysOf(limits.DefaultPrefix, "job", h.ID)
			depth := rapid.IntRange(1, 3).Draw(t, "depth")
			terms := quorum.TermsOf(time.Duration(rapid.IntRange(10, 60).Draw(t, "ttl"))*time.Second, 0, 0)
			channel := rapid.SampledFrom([]string{"", "x", "y", "z"}).Draw(t, "channel") // x and y are subscribed to
			ticket := rapid.SampledFrom([]string{"1400000000000000", "1500000000000000"}).Draw(t, "ticket")
			in := lease.Place{Channel: &channel, Ticket: waitqueue.TicketOf(ticket)}
			var one script.Call
			switch rapid.SampledFrom([]string{"acquire", "reenter", "confirm", "extend", "exit", "release", "pass", "undo", "mark", "repair", "verify", "leave", "joint", "cut", "linger", "lose", "persist", "go on", "many"}).Draw(t, "call") {
			case "acquire":
				one = h.AcquireCall(terms, rapid.SampledFrom([]lease.Place{lease.Place{}, in}).Draw(t, "place"))
			case "reenter":
				one = h.ReenterCall(depth, terms)
			case "confirm":
				one = h.ConfirmCall(int64(rapid.IntRange(1000, 1004).Draw(t, "grant")))
			case "extend":
				one = h.ExtendCall(terms)
			case "release":
				one = h.ReleaseCall()
			case "exit":
				one = h.ExitCall(depth)
			case "pass":
				one = h.PassCall(&channel)
			case "undo":
				one = h.UndoCall(0, rapid.SampledFrom([]lease.Place{lease.Place{}, in}).Draw(t, "place"))
			case "mark":
				one = h.UndoCall(lease.GoneTTL, lease.Place{})
			case "repair":
				one = h.RepairCall(depth, terms)
			case "verify":
				one = script.Verify.Call([]*string{&h.Keys.Lock}, uint64(1000+depth))
			case "joint":
				one = h.JointCall(terms, 1)
			case "cut":
				one = h.JointCall(terms, rapid.SampledFrom([]int{0, 2}).Draw(t, "group"))
			case "leave":
				one = script.Leave.Call([]*string{&h.Keys.Lock, &h.Keys.Queue, &h.Keys.Asked}, &channel)
			case "go on":
				one = script.Leave.Call([]*string{&h.Keys.Lock, &h.Keys.Queue, &h.Keys.Asked}, &script.GoOn)
			case "many": // who died
				n := rapid.SampledFrom([]int{1, script.MaxSteps - 1, script.MaxSteps, script.MaxSteps + 1, 3 * script.MaxSteps}).Draw(t, "many")
				half := rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "half")
				ago := rapid.SampledFrom([]time.Duration{time.Second, 2 * script.QueueTTL}).Draw(t, "ago")
				for _, r := range both {
					if err := deadInLine(r, k, n, 1450000000000000+half, ago); err != nil {
						t.Fatal(err)
					}
				}
				continue
			case "linger":
				one = h.LingerCall(terms.TTL, rapid.SampledFrom([]time.Duration{0, lease.GoneTTL}).Draw(t, "mark"))
			case "persist":
				for _, r := range both {
					r.Persist(context.Background(), k.Lock)
				}
				continue
			case "lose":
				for _, r := range both {
					r.Del(context.Background(), k.Fence)
				}
				continue
			}
			var said [2]string
			var left [2]map[string]string
			for i, r := range both {
				v, err := harness.CallIn(script.BatchSource, r, one)
				said[i] = fmt.Sprint(v.Answer, v.Grant, v.NotMine(), v.Remaining.Round(time.Second), err != nil)
				left[i] = map[string]string{"lock": r.Get(context.Background(), k.Lock).Val()}
				left[i]["fence"] = r.Get(context.Background(), k.Fence).Val()
				if len(left[i]["fence"]) > 5 {
					left[i]["fence"] = left[i]["fence"][:5] // "lost " and a time
				}
				left[i]["ttl"] = r.PTTL(context.Background(), k.Lock).Val().Round(time.Second).String()
				left[i]["queue"] = fmt.Sprint(r.ZRangeWithScores(context.Background(), k.Queue, 0, -1).Val())
				left[i]["asked"] = fmt.Sprint(slices.Sorted(slices.Values(r.ZRange(context.Background(), k.Asked, 0, -1).Val())))
				left[i]["readers"] = ""
				for _, reader := range r.ZRangeWithScores(context.Background(), k.Lock, 0, -1).Val() {
					left[i]["readers"] += fmt.Sprint(reader.Member, " ", time.Until(time.UnixMilli(int64(reader.Score))).Round(time.Second), " ")
				}
				left[i]["gone"] = fmt.Sprint(r.Exists(context.Background(), h.Keys.Gone).Val())
			}
			if said[0] != said[1] || !maps.Equal(left[0], left[1]) {
				t.Fatalf("%s %v\nembedded: %s %v\nredis:    %s %v", one.Name, one.Args(), said[0], left[0], said[1], left[1])
			}
		}
	})
}

// Who was called is not in line any more. When it comes too late for the 200 ms, as from far away
// it always does, its ticket tells that it is still the first.
func TestWhoComesLateIsStillFirst(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 1, func(t *testing.T, d *harness.Deployment) {
		d.Reached()
		ask := func(owner, channel, ticket string) script.Answer {
			h := &lease.Owner{ID: owner, Keys: script.KeysOf(limits.DefaultPrefix, "job", owner)}
			v, err := harness.CallIn(script.BatchSource, d.Raw[0], h.AcquireCall(quorum.TermsOf(limits.DefaultTTL, 0, 0), lease.Place{Channel: &channel, Ticket: waitqueue.TicketOf(ticket)}))
			harness.Must(t, err)
			return v.Answer
		}
		sub := d.Raw[0].Subscribe(context.Background(), "second")
		t.Cleanup(func() { _ = sub.Close() })
		_, err := sub.Receive(context.Background())
		harness.Must(t, err)
		harness.Must(t, d.Raw[0].ZAdd(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Queue, redis.Z{Score: 1500000000000000, Member: "second"}).Err())
		if n := ask("c", "third", "1600000000000000"); n != script.Held {
			t.Errorf("the third is told %v, before the second", n)
		}
		time.Sleep(time.Second) // the second was called, and has not come
		harness.Must(t, d.Raw[0].ZAdd(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Queue, redis.Z{Score: 1500000000000000, Member: "second"}).Err())
		if n := ask("a", "first", "1400000000000000"); n != script.Granted {
			t.Errorf("the first is told %v, for the second's sake", n)
		}
	})
}

// A release has to know that somebody waits, whatever was done to the lock since.
func TestAReleaseCallsWhoWaits(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 1, func(t *testing.T, d *harness.Deployment) {
		d.Reached()
		r := d.Raw[0]
		sub := r.Subscribe(context.Background(), "waiter")
		t.Cleanup(func() { _ = sub.Close() })
		_, err := sub.Receive(context.Background())
		harness.Must(t, err)
		channel, first, ticket := "waiter", "first", "1500000000000000"
		terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
		a := &lease.Owner{ID: "a", Keys: script.KeysOf(limits.DefaultPrefix, "job", "a"), Token: 1 << 41}
		b := &lease.Owner{ID: "b", Keys: script.KeysOf(limits.DefaultPrefix, "job", "b")}
		acquire, enqueue := a.AcquireCall(terms, lease.Place{}), b.AcquireCall(terms, lease.Place{Channel: &channel, Ticket: waitqueue.TicketOf(ticket)})
		queued := func() {
			harness.Must(t, r.ZAdd(context.Background(), a.Keys.Queue, redis.Z{Score: 1, Member: channel}).Err())
		}
		for what, before := range map[string]func() []script.Call{
			"refused":                      func() []script.Call { return []script.Call{acquire, enqueue} },
			"refused twice":                func() []script.Call { return []script.Call{acquire, enqueue, enqueue} },
			"refused, and then re-entered": func() []script.Call { return []script.Call{acquire, enqueue, a.ReenterCall(2, terms), a.ExitCall(1)} },
			"refused, and then confirmed": func() []script.Call {
				grant, err := harness.CallIn(script.BatchSource, r, acquire)
				harness.Must(t, err)
				return []script.Call{enqueue, a.ConfirmCall(grant.Grant)}
			},
			"there before the repair": func() []script.Call { queued(); return []script.Call{a.RepairCall(1, terms)} },
			"there before the acquire": func() []script.Call {
				queued()
				harness.Must(t, r.Set(context.Background(), a.Keys.Lock, " "+first, 0).Err())
				return []script.Call{a.AcquireCall(terms, lease.Place{Channel: &first, Ticket: waitqueue.TicketOf(ticket)})}
			},
		} {
			for _, one := range before() {
				if _, err := harness.CallIn(script.BatchSource, r, one); err != nil {
					t.Errorf("%s: %s: %v", what, one.Name, err)
				}
			}
			harness.Must(t, callError(harness.CallIn(script.BatchSource, r, a.ReleaseCall())))
			if value := r.Get(context.Background(), a.Keys.Lock).Val(); value != " "+channel {
				t.Errorf("%s: after the release the lock is %q; want it kept for the waiter", what, value)
			}
			harness.Must(t, r.Del(context.Background(), a.Keys.Lock, a.Keys.Queue).Err())
		}
	})
}

// An attempt may make its token again, and a copy of the confirm of the token before may come
// later.
func TestAnOlderConfirmComesLater(t *testing.T) {
	t.Parallel()
	for kind, r := range bothKinds(t) {
		harness.Must(t, memberOfOne(r))
		h := &lease.Owner{ID: "a", Keys: script.KeysOf(limits.DefaultPrefix, "job", "a")}
		harness.Must(t, r.Set(context.Background(), h.Keys.Fence, int64(1)<<41, 0).Err())
		grant, err := harness.CallIn(script.BatchSource, r, h.AcquireCall(quorum.TermsOf(limits.DefaultTTL, 0, 0), lease.Place{}))
		harness.Must(t, err)
		for _, above := range []int64{9, 5} {
			h.Token = fence.Token(grant.Grant + above)
			v, err := harness.CallIn(script.BatchSource, r, h.ConfirmCall(grant.Grant))
			harness.Must(t, err)
			if v.Answer != script.Granted {
				t.Errorf("%s: the confirm of the token %d above the grant is answered %v", kind, above, v.Answer)
			}
		}
		_, value, _ := strings.Cut(r.Get(context.Background(), h.Keys.Lock).Val(), " ")
		if want := fmt.Sprintf("1 %d %d", grant.Grant, grant.Grant+9); value != want {
			t.Errorf("%s: the lock is %q, want %q", kind, value, want)
		}
	}
}

// An acquire that is sent twice may be granted twice, with a rival's grant between: a confirm of
// the first grant is not one of the second.
func TestAConfirmAsksForItsGrant(t *testing.T) {
	t.Parallel()
	terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
	for kind, r := range bothKinds(t) {
		harness.Must(t, memberOfOne(r))
		a := &lease.Owner{ID: "a", Keys: script.KeysOf(limits.DefaultPrefix, "job", "a")}
		b := &lease.Owner{ID: "b", Keys: script.KeysOf(limits.DefaultPrefix, "job", "b")}
		harness.Must(t, r.Set(context.Background(), a.Keys.Fence, int64(1)<<41, 0).Err())
		var grants []int64
		for i, h := range []*lease.Owner{a, b, a} {
			if i > 0 {
				harness.Must(t, r.Del(context.Background(), a.Keys.Lock).Err()) // it expired
			}
			v, err := harness.CallIn(script.BatchSource, r, h.AcquireCall(terms, lease.Place{}))
			harness.Must(t, err)
			grants = append(grants, v.Grant)
		}
		for _, step := range []struct {
			what string
			h    *lease.Owner
			of   int64
			want script.Answer
		}{
			{"of the first grant", a, grants[0], script.Refused},
			{"of the rival's", b, grants[1], script.Refused},
			{"by the rival, of whichever stands", b, 0, script.Refused},
			{"of the second grant", a, grants[2], script.Granted},
			{"of whichever stands", a, 0, script.Granted},
		} {
			counter := r.Get(context.Background(), step.h.Keys.Fence).Val()
			step.h.Token = fence.Token(grants[2] + 7)
			v, err := harness.CallIn(script.BatchSource, r, step.h.ConfirmCall(step.of))
			harness.Must(t, err)
			if v.Answer != step.want {
				t.Errorf("%s: a confirm %s is answered %v, want %v", kind, step.what, v.Answer, step.want)
			}
			if after := r.Get(context.Background(), step.h.Keys.Fence).Val(); step.want != script.Granted && after != counter {
				t.Errorf("%s: a confirm %s moved the counter from %s to %s", kind, step.what, counter, after)
			}
		}
	}
}

// A mark keeps out whatever would give its owner the lock later, whoever had the lock when the
// owner gave up. Without a mark there is none.
func TestAMarkKeepsOutWhatComesLater(t *testing.T) {
	t.Parallel()
	terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
	h, reader, in := holdsToCallFor()
	k := h.Keys
	late := map[string]script.Call{
		"acquire": h.AcquireCall(terms, lease.Place{}), "enqueue": h.AcquireCall(terms, in), "joint": h.JointCall(terms, 1), "repair": h.RepairCall(1, terms),
		"share": reader.AcquireCall(terms, lease.Place{}), "share in line": reader.AcquireCall(terms, in), "restore": reader.RepairCall(1, terms),
	}
	read := func(owner string) func(r *redis.Client) error {
		return func(r *redis.Client) error {
			return r.ZAdd(context.Background(), k.Lock, redis.Z{Score: float64(time.Now().Add(limits.DefaultTTL).UnixMilli()), Member: owner}).Err()
		}
	}
	put := func(value string) func(r *redis.Client) error {
		return func(r *redis.Client) error {
			return r.Set(context.Background(), k.Lock, value, limits.DefaultTTL).Err()
		}
	}
	for kind, r := range bothKinds(t) {
		for state, setUp := range map[string]func(r *redis.Client) error{
			"it is free": func(*redis.Client) error { return nil }, "it is the owner's": put("mine 1 7 "), "it is another's": put("other 1 7 "),
			"it is kept for one": put(" other"), "it lingers": put("- mine 7 7"), "another's lingers": put("- other 7 7"),
			"the owner reads": read("mine"), "another reads": read("other"),
		} {
			for what, giveUp := range map[string]func(mark time.Duration) script.Call{
				"released":          func(mark time.Duration) script.Call { return h.UndoCall(mark, lease.Place{}) },
				"back in line":      func(mark time.Duration) script.Call { return h.UndoCall(mark, in) },
				"made linger":       func(mark time.Duration) script.Call { return h.LingerCall(time.Second, mark) },
				"given back unread": func(mark time.Duration) script.Call { return reader.UndoCall(mark, lease.Place{}) },
			} {
				for _, mark := range []time.Duration{0, lease.GoneTTL} {
					harness.Must(t, r.FlushAll(context.Background()).Err())
					harness.Must(t, memberOfOne(r))
					harness.Must(t, r.Set(context.Background(), k.Fence, int64(1)<<41, 0).Err())
					harness.Must(t, setUp(r))
					_, err := harness.CallIn(script.BatchSource, r, giveUp(mark))
					harness.Must(t, err)
					left := r.PTTL(context.Background(), k.Gone).Val()
					if mark == 0 && left != -2 || mark > 0 && (left > mark || left < mark-time.Minute/4) {
						t.Errorf("%s, %s, %s with a mark of %v: the mark ends in %v", kind, state, what, mark, left)
					}
					if mark == 0 {
						continue
					}
					for name, call := range late {
						for _, then := range []string{"", "other 1 7 ", " other"} { // it is free by then, another's, or kept for one
							harness.Must(t, r.Del(context.Background(), k.Lock, k.Queue, k.Asked).Err())
							if then != "" {
								harness.Must(t, put(then)(r))
							}
							v, _ := harness.CallIn(script.BatchSource, r, call)
							if is := r.Get(context.Background(), k.Lock).Val(); v.Answer == script.Granted || is != then || r.Exists(context.Background(), k.Queue, k.Asked).Val() != 0 {
								t.Errorf("%s, %s, %s: a late %s is answered %v; the lock was %q, and is %q", kind, state, what, name, v.Answer, then, is)
							}
						}
					}
				}
			}
		}
	}
}

// What asks for a lease that its owner has makes it last for the ttl at least, and never shortens
// it.
func TestALeaseIsNeverShortened(t *testing.T) {
	t.Parallel()
	const ttl, slack = 20 * time.Second, 5 * time.Second
	terms := quorum.TermsOf(ttl, 0, 0)
	h, reader, in := holdsToCallFor()
	k := h.Keys
	calls := map[bool]map[string]script.Call{
		false: {
			"acquire": h.AcquireCall(terms, lease.Place{}), "enqueue": h.AcquireCall(terms, in), "joint": h.JointCall(terms, 1),
			"reenter": h.ReenterCall(2, terms), "extend": h.ExtendCall(terms), "repair": h.RepairCall(1, terms),
			"stay": reader.StayCall(terms), // which makes a reader of the writer
		},
		true: {
			"share": reader.AcquireCall(terms, lease.Place{}), "share in line": reader.AcquireCall(terms, in), "stay": reader.StayCall(terms),
			"restore": reader.RepairCall(1, terms), "extend": h.ExtendCall(terms), "reenter": h.ReenterCall(2, terms), // of a writer that became a reader just now
		},
	}
	for kind, r := range bothKinds(t) {
		for reads, calls := range calls {
			for what, call := range calls {
				for _, had := range []time.Duration{ttl / 2, 2 * ttl} {
					harness.Must(t, r.FlushAll(context.Background()).Err())
					harness.Must(t, memberOfOne(r))
					harness.Must(t, r.Set(context.Background(), k.Fence, int64(1)<<41, 0).Err())
					if reads {
						ends := time.Now().Add(had)
						harness.Must(t, r.ZAdd(context.Background(), k.Lock, redis.Z{Score: float64(ends.UnixMilli()), Member: h.ID}).Err())
						harness.Must(t, r.PExpireAt(context.Background(), k.Lock, ends).Err())
					} else {
						harness.Must(t, r.Set(context.Background(), k.Lock, fmt.Sprintf("%s 1 %d ", h.ID, int64(1)<<41), had).Err())
					}
					v, err := harness.CallIn(script.BatchSource, r, call)
					harness.Must(t, err)
					want, left := max(had, ttl), r.PTTL(context.Background(), k.Lock).Val()
					if v.Answer != script.Granted || left > want || left < want-slack {
						t.Errorf("%s, reads %v: %s for %v of one that ends in %v is answered %v, and then it ends in %v", kind, reads, what, ttl, had, v.Answer, left)
					}
				}
			}
		}
	}
}

// What tells a master of a token raises its counter to it, and never lowers it.
func TestACounterIsRaisedAndNeverFalls(t *testing.T) {
	t.Parallel()
	terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
	h, reader, _ := holdsToCallFor()
	const counter = int64(1) << 41
	owned := func(r *redis.Client) error {
		return r.Set(context.Background(), h.Keys.Lock, fmt.Sprintf("%s 1 %d ", h.ID, counter), limits.DefaultTTL).Err()
	}
	for kind, r := range bothKinds(t) {
		for _, above := range []int64{-1, 0, 1, 1000} {
			h.Token, reader.Last = fence.Token(counter+above), fence.Token(counter+above)
			for what, x := range map[string]struct {
				call  script.Call
				setUp func(r *redis.Client) error
			}{
				"a confirm":                   {h.ConfirmCall(counter), owned},
				"a confirm of what stands":    {h.ConfirmCall(0), owned},
				"a repair":                    {h.RepairCall(1, terms), nil},
				"a repair of what is there":   {h.RepairCall(1, terms), owned},
				"what a reader was told of":   {reader.ConfirmCall(0), nil},
				"what a reader was told once": {reader.ConfirmCall(1), nil},
			} {
				harness.Must(t, r.FlushAll(context.Background()).Err())
				harness.Must(t, memberOfOne(r))
				harness.Must(t, r.Set(context.Background(), h.Keys.Fence, counter, 0).Err())
				if x.setUp != nil {
					harness.Must(t, x.setUp(r))
				}
				v, err := harness.CallIn(script.BatchSource, r, x.call)
				harness.Must(t, err)
				if got, err := r.Get(context.Background(), h.Keys.Fence).Int64(); err != nil || got != max(counter, counter+above) || v.Answer != script.Granted {
					t.Errorf("%s: %s, with a token %d above the counter, is answered %v, and the counter goes from %d to %d (%v)", kind, what, above, v.Answer, counter, got, err)
				}
			}
		}
	}
}

// Readers and a writer keep each other out for as long as each lasts, by the master's clock, and no
// longer. Who is refused is told for how long at least.
func TestReadersAndWritersKeepEachOtherOut(t *testing.T) {
	t.Parallel()
	terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
	h, reader, in := holdsToCallFor()
	k := h.Keys
	const lasts, slack = 20 * time.Second, 5 * time.Second
	read := func(owners map[string]time.Duration) func(r *redis.Client) error {
		return func(r *redis.Client) error {
			for owner, ends := range owners {
				if err := r.ZAdd(context.Background(), k.Lock, redis.Z{Score: float64(time.Now().Add(ends).UnixMilli()), Member: owner}).Err(); err != nil {
					return err
				}
			}
			return nil
		}
	}
	written := func(r *redis.Client) error { return r.Set(context.Background(), k.Lock, "other 1 7 ", lasts).Err() }
	writers := map[string]script.Call{"acquire": h.AcquireCall(terms, lease.Place{}), "enqueue": h.AcquireCall(terms, in), "joint": h.JointCall(terms, 1)}
	readers := map[string]script.Call{"share": reader.AcquireCall(terms, lease.Place{}), "share in line": reader.AcquireCall(terms, in)}
	for kind, r := range bothKinds(t) {
		for _, x := range []struct {
			claim string
			setUp func(r *redis.Client) error
			calls map[string]script.Call
			free  bool
		}{
			{"a reader has it", read(map[string]time.Duration{"a": lasts}), writers, false},
			{"two have it, and the first is over", read(map[string]time.Duration{"a": -time.Second, "b": lasts}), writers, false},
			{"the time of all readers is over", read(map[string]time.Duration{"a": -time.Second, "b": -time.Minute}), writers, true},
			{"a writer has it", written, readers, false},
			{"readers have it, for a reader", read(map[string]time.Duration{"a": lasts, "b": -time.Second}), readers, true},
			{"the time of all readers is over, for a reader", read(map[string]time.Duration{"a": -time.Second}), readers, true},
		} {
			for what, call := range x.calls {
				harness.Must(t, r.FlushAll(context.Background()).Err())
				harness.Must(t, memberOfOne(r))
				harness.Must(t, r.Set(context.Background(), k.Fence, int64(1)<<41, 0).Err())
				harness.Must(t, x.setUp(r))
				v, err := harness.CallIn(script.BatchSource, r, call)
				harness.Must(t, err)
				if (v.Answer == script.Granted) != x.free || !x.free && v.Ticket == 0 && (v.Answer != script.Held || v.Remaining > lasts || v.Remaining < lasts-slack) {
					t.Errorf("%s: %s: %s is answered %v, for %v more", kind, x.claim, what, v.Answer, v.Remaining)
				}
			}
		}
	}
}

// A master that is out of memory frees a lock, and marks its owner. Where another has the lock,
// there is nothing to free, and the mark is refused.
func TestAMasterWithoutMemoryFrees(t *testing.T) {
	t.Parallel()
	terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
	holdOf := func(owner string, reads bool) *lease.Owner {
		h := &lease.Owner{ID: owner, Keys: script.KeysOf(limits.DefaultPrefix, "job", owner)}
		h.Reads.Store(reads)
		return h
	}
	for kind, r := range bothKinds(t) {
		harness.Must(t, memberOfOne(r))
		other := holdOf("other", false)
		harness.Must(t, r.Set(context.Background(), other.Keys.Fence, int64(1)<<41, 0).Err())
		for _, reads := range []bool{false, true} {
			h := holdOf("owner", reads)
			_, err := harness.CallIn(script.BatchSource, r, h.AcquireCall(terms, lease.Place{}))
			harness.Must(t, err)
			harness.Must(t, r.ConfigSet(context.Background(), "maxmemory", "1").Err())
			v, err := harness.CallIn(script.BatchSource, r, h.UndoCall(lease.GoneTTL, lease.Place{}))
			lock, mark := r.Exists(context.Background(), h.Keys.Lock).Val(), r.Exists(context.Background(), h.Keys.Gone).Val()
			if err != nil || v.Answer != script.Granted || lock != 0 || mark != 1 {
				t.Errorf("%s, reads %v: it says %v (%v); locks %d, marks %d", kind, reads, v.Answer, err, lock, mark)
			}
			harness.Must(t, r.ConfigSet(context.Background(), "maxmemory", "0").Err())
			harness.Must(t, r.Del(context.Background(), h.Keys.Lock, h.Keys.Gone).Err())
		}
		_, err := harness.CallIn(script.BatchSource, r, other.AcquireCall(terms, lease.Place{}))
		harness.Must(t, err)
		harness.Must(t, r.ConfigSet(context.Background(), "maxmemory", "1").Err())
		h := holdOf("owner", false)
		_, err = harness.CallIn(script.BatchSource, r, h.UndoCall(lease.GoneTTL, lease.Place{}))
		if !redis.HasErrorPrefix(err, "OOM") || r.Exists(context.Background(), h.Keys.Gone).Val() != 0 || r.Exists(context.Background(), h.Keys.Lock).Val() != 1 {
			t.Errorf("%s: another has the lock: %v", kind, err)
		}
		harness.Must(t, r.ConfigSet(context.Background(), "maxmemory", "0").Err())
	}
}

func callError(_ script.Vote, err error) error { return err }
