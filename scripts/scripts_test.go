package scripts_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

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

func callError(_ script.Vote, err error) error { return err }

// A master looks once in LookEvery by its clock; and at once if that was set back.
func TestAMasterLooksOnceInAWhile(t *testing.T) {
	t.Parallel()
	for _, durable := range []string{"no", "yes"} {
		harness.InVirtualTime(t, 1, func(t *testing.T, d *harness.Deployment) {
			r, fake := d.Raw[0], d.Masters[0].(harness.EmbeddedMaster)
			register := script.RegisterKey(limits.DefaultPrefix)
			harness.Must(t, memberOfOne(r))
			harness.Must(t, r.HSet(context.Background(), register, "durable", durable).Err())
			begin := time.Now().Truncate(time.Millisecond)
			for _, x := range []struct{ after, clock, looked time.Duration }{
				{0, 0, 0},
				{script.LookEvery - time.Millisecond, 0, 0},
				{time.Millisecond, 0, script.LookEvery},
				{script.LookEvery - time.Millisecond, 0, script.LookEvery},
				{time.Hour, 0, time.Hour + 2*script.LookEvery - time.Millisecond},
				{0, -time.Hour, 2*script.LookEvery - time.Millisecond},
				{0, -time.Hour - time.Millisecond, 2*script.LookEvery - 2*time.Millisecond},
				{0, -time.Hour, 2*script.LookEvery - 2*time.Millisecond},
				{0, 0, time.Hour + 2*script.LookEvery - time.Millisecond},
			} {
				time.Sleep(x.after)
				fake.SetClock(x.clock)
				harness.Must(t, callError(harness.CallIn(script.BatchSource, r, script.Verify.Call([]*string{&register}, uint64(100)))))
				ms, err := r.HGet(context.Background(), register, "looked").Int64()
				harness.Must(t, err)
				if looked := time.UnixMilli(ms).Sub(begin); looked != x.looked {
					t.Errorf("durable: %s: %v later, with a clock that is wrong by %v, it last looked at %v, want %v", durable, x.after, x.clock, looked, x.looked)
				}
			}
		})
	}
}
