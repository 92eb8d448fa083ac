package scripts_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
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
	"github.com/redlock-go/redlock/internal/testrights"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// What a server refuses is no evidence: neither of lost data, nor that a lock is another's, nor
// that a waiter is dead.

// lesser returns a client of a server that logs in as a user who may do everything, and what takes
// a right from that user.
func lesser(t *testing.T, r *redis.Client) (user *redis.Client, may func(but ...string)) {
	t.Helper()
	may = func(but ...string) {
		t.Helper()
		words := []any{"acl", "setuser", "lesser", "reset", "on", ">pw", "~*", "&*", "+@all"}
		for _, right := range but {
			words = append(words, right)
		}
		harness.Must(t, r.Do(context.Background(), words...).Err())
	}
	may()
	o := *r.Options()
	o.Username, o.Password = "lesser", "pw"
	user = redis.NewClient(&o)
	t.Cleanup(func() { _ = user.Close() })
	return user, may
}

// Whatever one of its commands is refused, an operation ends no membership, lowers no counter,
// takes no lock from its owner, and drops no waiter that it did not call. When it is run again with
// all rights, the master votes.
func TestAnOperationThatIsRefusedLosesNothing(t *testing.T) {
	t.Parallel()
	r := harness.Processes(t, 1, redisproc.Config{}).Raw[0]
	user, may := lesser(t, r)
	waits := r.Subscribe(context.Background(), "waits")
	t.Cleanup(func() { _ = waits.Close() })
	_, err := waits.Receive(context.Background())
	harness.Must(t, err)

	terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
	holdOf := func(owner string, reads bool) *lease.Owner {
		h := &lease.Owner{ID: owner, Keys: script.KeysOf(limits.DefaultPrefix, "job", owner), Token: 1<<41 + 1, Last: 1<<41 + 1}
		h.Reads.Store(reads)
		return h
	}
	mine, reads := holdOf("mine", false), holdOf("mine", true)
	k := mine.Keys
	channel := "waits"
	in := lease.Place{Channel: &channel, Ticket: waitqueue.TicketOf("1500000000000000")}
	written := fmt.Sprintf("mine 1 %d +", int64(1<<41))
	put := func(value string) func(redis.Pipeliner) {
		return func(p redis.Pipeliner) { p.Set(context.Background(), k.Lock, value, limits.DefaultTTL) }
	}
	read := func(owners ...string) func(redis.Pipeliner) {
		return func(p redis.Pipeliner) {
			for _, owner := range owners {
				p.ZAdd(context.Background(), k.Lock, redis.Z{Score: float64(time.Now().Add(limits.DefaultTTL).UnixMilli()), Member: owner})
			}
			p.PExpire(context.Background(), k.Lock, limits.DefaultTTL)
		}
	}
	states := map[string]func(redis.Pipeliner){
		"free": func(redis.Pipeliner) {}, "written": put(written), "another's": put(strings.Replace(written, "mine", "other", 1)),
		"kept": put(" " + channel), "kept for readers": put(" {read}"), "read": read("mine"), "read by both": read("mine", "other"), "read by another": read("other"),
	}
	tickets := map[string]float64{"nobody waits": 0, "a writer waits": 1e15, "a reader waits": 1e15 + .5}
	calls := []script.Call{
		mine.AcquireCall(terms, lease.Place{}), mine.AcquireCall(terms, in), mine.JointCall(terms, 1), mine.ReenterCall(2, terms), mine.ConfirmCall(1 << 41),
		mine.ExtendCall(terms), mine.RepairCall(1, terms), mine.ExitCall(1), script.Verify.Call([]*string{&k.Lock}, uint64(1<<41)),
		reads.AcquireCall(terms, lease.Place{}), reads.AcquireCall(terms, in), reads.StayCall(terms), reads.ConfirmCall(0), reads.RepairCall(1, terms),
		mine.ReleaseCall(), mine.PassCall(&channel), mine.UndoCall(lease.GoneTTL, lease.Place{}), mine.UndoCall(0, in), reads.UndoCall(0, in),
		mine.LingerCall(limits.DefaultTTL, lease.GoneTTL), script.Leave.Call([]*string{&k.Lock, &k.Queue}, &channel),
	}
	renews := map[*script.Operation]bool{script.Extend: true, script.Reenter: true, script.Stay: true, script.Repair: true, script.Restore: true}
	gives := func(c script.Call) bool { return c.NoVote && c.Operation != script.Exit }
	harness.Must(t, memberOfOne(r))
	register := script.RegisterKey(limits.DefaultPrefix)
	member := r.HGetAll(context.Background(), register).Val()
	for _, right := range testrights.Rule(t, "../docs/PROTOCOL.md", "redlock") {
		if !strings.HasPrefix(right, "+") || strings.HasPrefix(right, "+eval") {
			continue
		}
		may("-" + right[1:])
		for state, setUp := range states {
			for queue, ticket := range tickets {
				for _, c := range calls {
					if testing.Short() && rand.IntN(4) > 0 { // another quarter each time
						continue
					}
					_, err := r.Pipelined(context.Background(), func(p redis.Pipeliner) error {
						p.FlushDB(context.Background())
						p.HSet(context.Background(), register, member)
						p.Set(context.Background(), k.Fence, int64(1)<<41, 0)
						setUp(p)
						if ticket > 0 {
							p.ZAdd(context.Background(), k.Queue, redis.Z{Score: ticket, Member: channel})
						}
						return nil
					})
					harness.Must(t, err)
					replies, err := harness.RunBatchAt(script.BatchSource, user, "1", c)
					what := fmt.Sprintf("without %s, %s, %s: %s is told %v %v", right, state, queue, c.Name, replies, err)
					var is *redis.MapStringStringCmd
					var counter, value *redis.StringCmd
					var readers, line *redis.StringSliceCmd
					_, _ = r.Pipelined(context.Background(), func(p redis.Pipeliner) error { // the lock is of one type or the other
						is, counter = p.HGetAll(context.Background(), register), p.Get(context.Background(), k.Fence)
						value, readers, line = p.Get(context.Background(), k.Lock), p.ZRange(context.Background(), k.Lock, 0, -1), p.ZRange(context.Background(), k.Queue, 0, -1)
						return nil
					})
					has := func(owner string) bool {
						return strings.HasPrefix(value.Val(), owner+" ") || slices.Contains(readers.Val(), owner)
					}
					register := is.Val()
					delete(register, "looked") // it may look at itself
					if strings.Contains(what, "NOTMEMBER") || strings.Contains(what, "UNFIT") || !maps.Equal(register, member) {
						t.Errorf("%s: the register is %v", what, register)
					}
					if n, err := counter.Int64(); err != nil || n < 1<<41 {
						t.Errorf("%s: the counter is %d, %v", what, n, err)
					}
					if strings.Contains(state, "another") && !has("other") {
						t.Errorf("%s: another lost the lock", what)
					}
					mine := strings.HasPrefix(state, "read") && state != "read by another" || state == "written"
					if mine && !gives(c) && !has("mine") {
						t.Errorf("%s: the owner lost the lock", what)
					}
					called := strings.HasPrefix(value.Val(), " ") || has("mine")
					if right == "+publish" && ticket > 0 && c.Operation != script.Leave && !called && !slices.Contains(line.Val(), channel) {
						t.Errorf("%s: the waiter was dropped, and not called", what)
					}
					if len(replies) == 1 {
						if n, done := replies[0].(int64); done {
							freed := gives(c) && c.Operation != script.Leave && (c.Operation != script.Linger || state == "written")
							if mine && (renews[c.Operation] || freed) && c.Read(n).NotMine() {
								t.Errorf("%s: it was the owner's", what)
							}
							continue
						}
					}
					v, err := harness.CallIn(script.BatchSource, r, c)
					if redis.HasErrorPrefix(err, "NOTMEMBER") || redis.HasErrorPrefix(err, "VERSION") {
						t.Errorf("%s: and with all rights %v", what, err)
					}
					if mine && renews[c.Operation] && v.NotMine() {
						t.Errorf("%s: and with all rights %+v", what, v)
					}
				}
			}
		}
	}
}

// A counter that is missing stays as good as missing until the master has disowned itself: it does
// not begin to count again, though that is refused at first.
func TestALossOutlastsARefusal(t *testing.T) {
	t.Parallel()
	r := harness.Processes(t, 1, redisproc.Config{}).Raw[0]
	user, may := lesser(t, r)
	mine := &lease.Owner{ID: "mine", Keys: script.KeysOf(limits.DefaultPrefix, "job", "mine")}
	for was, lose := range map[string]func() error{
		"missing": func() error { return r.Del(context.Background(), mine.Keys.Fence).Err() },
		"below 0": func() error { return r.Set(context.Background(), mine.Keys.Fence, -1, 0).Err() },
		"above":   func() error { return r.Set(context.Background(), mine.Keys.Fence, int64(script.MaxCounter), 0).Err() },
	} {
		harness.Must(t, memberOfOne(r))
		harness.Must(t, lose())
		may("-hdel")
		for range 5 {
			if v, err := harness.CallIn(script.BatchSource, user, mine.AcquireCall(quorum.TermsOf(limits.DefaultTTL, 0, 0), lease.Place{})); err == nil || redis.HasErrorPrefix(err, "NOTMEMBER") {
				t.Errorf("%s: without +hdel: %+v, %v", was, v, err)
			}
		}
		may()
		if _, err := harness.CallIn(script.BatchSource, user, mine.AcquireCall(quorum.TermsOf(limits.DefaultTTL, 0, 0), lease.Place{})); !redis.HasErrorPrefix(err, "NOTMEMBER") {
			t.Errorf("%s: and with +hdel: %v", was, err)
		}
	}
}

// Whatever one of its commands is refused, a script of the register does not take the server for
// another's or for one that lost its data, and leaves the register as it was, but for a promise and
// for when it looked at itself.
func TestAScriptOfTheRegisterThatIsRefusedLosesNothing(t *testing.T) {
	t.Parallel()
	r := harness.Processes(t, 1, redisproc.Config{AppendFsync: "everysec"}).Raw[0]
	user, may := lesser(t, r)
	harness.Must(t, memberOfOne(r))
	register := script.RegisterKey(limits.DefaultPrefix)
	member := r.HGetAll(context.Background(), register).Val()
	fence := script.FenceKey(limits.DefaultPrefix, 0)
	but := func(fields ...string) map[string]string {
		is := maps.Clone(member)
		for i := 0; i < len(fields); i += 2 {
			is[fields[i]] = fields[i+1]
		}
		maps.DeleteFunc(is, func(_, value string) bool { return value == "" })
		return is
	}
	claimed := map[string]string{"deployment": "d", "id": "one", "run": member["run"], "claim": "a", "claimed": "2"}
	for what, x := range map[string]struct {
		is     map[string]string
		source string
		args   []any
	}{
		"promise":  {member, script.PromiseSource, []any{"one", "2"}},
		"accept":   {but("learned", "1"), script.AcceptSource, []any{"one", "2", member["table"], "d"}},
		"learn":    {member, script.LearnSource, []any{"one", "2", member["table"], "d"}},
		"reached":  {member, script.ReachedSource, []any{"one", "one", "x:1"}},
		"counters": {member, script.CountersSource, []any{"one", "1"}},
		"sync":     {member, script.SyncSource, []any{"one", "1", "1", "2000"}},
		"adopt":    {but("run", "before", "durable", "yes"), script.AdoptSource, []any{member["run"], "one", "1"}},
		"enroll":   {but("id", "", "votes", ""), script.EnrollSource, []any{member["run"], "", "d", "new", "1"}},
		"inspect":  {member, script.InspectSource, nil},
		"report":   {member, script.ReportSource, nil},
		"here":     {member, script.HereSource, []any{"channel"}},
		"claim":    {claimed, script.ClaimSource, []any{member["run"], "e", "new", "a", "3", ""}},
		"found":    {claimed, script.FoundSource, []any{"d", "one", "2", member["table"], ""}},
	} {
		keys := []string{register, fence}
		if x.source == script.InspectSource {
			keys = append(keys, "queue")
		}
		run := func() error {
			_, err := r.Pipelined(context.Background(), func(p redis.Pipeliner) error {
				p.Del(context.Background(), register)
				p.HSet(context.Background(), register, x.is)
				p.Set(context.Background(), fence, 1000, 0)
				return nil
			})
			harness.Must(t, err)
			return user.Eval(context.Background(), x.source, keys, x.args...).Err()
		}
		refused := false
		for _, right := range testrights.Rule(t, "../docs/PROTOCOL.md", "redlock") {
			if !strings.HasPrefix(right, "+") || strings.HasPrefix(right, "+eval") {
				continue
			}
			may("-" + right[1:])
			err := run()
			may()
			if err == nil {
				continue
			}
			refused = true
			for _, word := range []string{"NOTMEMBER", "CLAIMED", "BELONGS", "PROMISED", "UNFIT"} {
				if redis.HasErrorPrefix(err, word) {
					t.Errorf("without %s: %s is told %v", right, what, err)
				}
			}
			after, want := r.HGetAll(context.Background(), register).Val(), maps.Clone(x.is)
			for _, free := range []string{"promised", "looked"} {
				delete(after, free)
				delete(want, free)
			}
			if !maps.Equal(after, want) {
				t.Errorf("without %s: %s leaves %v, of %v", right, what, after, want)
			}
		}
		if err := run(); err != nil || !refused {
			t.Errorf("with all rights %s is told %v, and it needed none: %v", what, err, !refused)
		}
	}
}
