package scripts_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/direct"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

var (
	// holder has the lock "held", and comer wants "free".
	holder = &lease.Owner{ID: "holder", Keys: script.KeysOf(limits.DefaultPrefix, "held", "holder"), Token: 1 << 41, Last: 1 << 41}
	comer  = &lease.Owner{ID: "comer", Keys: script.KeysOf(limits.DefaultPrefix, "free", "comer")}
)

// memberHolds gives the lock "held" to holder, and the locks their counters.
func memberHolds(r *redis.Client) error {
	_, err := r.Pipelined(context.Background(), func(p redis.Pipeliner) error {
		p.Set(context.Background(), holder.Keys.Fence, 100, 0)
		p.Set(context.Background(), comer.Keys.Fence, 100, 0)
		p.Set(context.Background(), holder.Keys.Lock, "holder 1 100 ", time.Minute)
		return nil
	})
	return err
}

// batchOfThree sends a batch with an acquire, an extend and a release, and returns "done" or the
// code of the error for each of them; or the code of the error of the whole batch. What is not done
// must leave nothing behind.
func batchOfThree(t *testing.T, r *redis.Client, header string) string {
	t.Helper()
	state := func() (locks, counters []any, ttl time.Duration) {
		locks, err := r.MGet(context.Background(), comer.Keys.Lock, holder.Keys.Lock).Result()
		harness.Must(t, err)
		counters, err = r.MGet(context.Background(), comer.Keys.Fence, holder.Keys.Fence).Result()
		harness.Must(t, err)
		return locks, counters, r.PTTL(context.Background(), holder.Keys.Lock).Val()
	}
	code := func(text string) string { word, _, _ := strings.Cut(text, " "); return word }
	locks, counters, ttl := state()
	longer := quorum.TermsOf(2*time.Minute, 0, 0)
	verdicts := []string{"", "", ""}
	replies, err := direct.Run(context.Background(), r, "eval", script.BatchSource, limits.DefaultPrefix, header,
		comer.AcquireCall(longer, lease.Place{}), holder.ExtendCall(longer), holder.ReleaseCall())
	for i, reply := range replies {
		if verdicts[i] = "done"; fmt.Sprintf("%T", reply) == "string" {
			verdicts[i] = code(reply.(string))
		}
	}
	after, count, left := state()
	if verdicts[0] != "done" && (after[0] != locks[0] || count[0] != counters[0]) {
		t.Errorf("%s: the acquire is answered %s %v, and leaves the lock %q and the counter %v", header, verdicts[0], err, after[0], count[0])
	}
	if verdicts[2] != "done" && after[1] != locks[1] {
		t.Errorf("%s: the release is answered %s %v, and leaves the lock %q, of %q", header, verdicts[2], err, after[1], locks[1])
	}
	if verdicts[1] != "done" && left > ttl {
		t.Errorf("%s: the extend is answered %s %v, and leaves %v, of %v", header, verdicts[1], err, left, ttl)
	}
	if err != nil {
		return code(err.Error())
	}
	return strings.Join(verdicts, " ")
}

// server is one of either kind.
type server struct {
	t    *testing.T
	kind string
	r    *redis.Client
	fake *embedded.Server // nil: it is a redis-server
}

// freshServers returns one of each kind that nothing has happened to.
func freshServers(t *testing.T) []server {
	t.Helper()
	fake := embedded.New()
	both := besideRedis(t, fake)
	return []server{{t, "embedded", both["embedded"], fake}, {t, "redis", both["redis"], nil}}
}

// requireOn is requireAfter on a server of which the cause has to know the kind.
func (x registerStep) requireOn(t *testing.T, s server, happens func(server) error) {
	t.Helper()
	x.requireAfter(t, s.kind, s.r, func(*redis.Client) error { return happens(s) })
}

// What an operator, or another program, may do to a server while clients are connected.

func nothing(server) error { return nil }

// set changes settings: name, value, name, value.
func set(settings ...string) func(server) error {
	return func(s server) error {
		for i := 0; i < len(settings); i += 2 {
			if err := s.r.ConfigSet(context.Background(), settings[i], settings[i+1]).Err(); err != nil {
				return err
			}
		}
		return nil
	}
}

var (
	mayEvict = set("maxmemory-policy", "allkeys-lru", "maxmemory", "1073741824")
	aofOff   = set("appendonly", "no")
)

// aofOn switches the AOF on, and waits until it is complete.
func aofOn(s server) error {
	err := set("appendonly", "yes")(s)
	harness.Eventually(s.t, "the AOF is complete", func() bool {
		info, err := s.r.Info(s.t.Context(), "persistence").Result()
		harness.Must(s.t, err)
		is := membership.ParseInfo(info)
		return is["aof_rewrite_in_progress"] == "0" && is["aof_rewrite_scheduled"] == "0"
	})
	return err
}

func aofOnAnew(s server) error { return errors.Join(aofOff(s), aofOn(s)) }

// evicts has a server evict keys, and forbids it then. Those without a ttl, as the register, stay.
func evicts(s server) error {
	for i := range 100 {
		if err := s.r.Set(context.Background(), fmt.Sprint("evicted", i), "x", time.Hour).Err(); err != nil {
			return err
		}
	}
	if err := set("maxmemory-policy", "volatile-ttl", "maxmemory", "1")(s); err != nil {
		return err
	}
	if s.fake != nil {
		s.fake.Evict(1, rand.New(rand.NewPCG(1, 1)))
	}
	_ = s.r.Set(context.Background(), "another", "x", 0).Err() // for which there is no room
	return set("maxmemory", "0", "maxmemory-policy", "noeviction")(s)
}

// follows makes a server a replica that has the data of before.
func follows(s server) error {
	if s.fake == nil {
		return s.r.Do(context.Background(), "replicaof", "127.0.0.1", "1").Err()
	}
	leader := embedded.New()
	s.t.Cleanup(leader.Close)
	leader.Restore(s.fake.Snapshot())
	s.fake.Follow(leader)
	return nil
}

// promoted is follows, and then it is a master again.
func promoted(s server) error {
	if err := follows(s); err != nil {
		return err
	}
	if s.fake == nil {
		return s.r.Do(context.Background(), "replicaof", "no", "one").Err()
	}
	s.fake.Follow(nil)
	return nil
}

// thenLooked is a cause after which the master looked just now.
func thenLooked(happens func(server) error) func(server) error {
	return func(s server) error {
		if err := happens(s); err != nil {
			return err
		}
		now, err := s.r.Time(context.Background()).Result()
		if err != nil {
			return err
		}
		return s.r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "looked", now.UnixMilli()).Err()
	}
}

// Which causes end a vote, for how long, and what the register has then. What gives something back
// goes on. The register is written as in TestStepsOfARegister; a batch has an acquire, an extend
// and a release.
func TestAMasterLooksAtItself(t *testing.T) {
	t.Parallel()
	const (
		served = "deployment=d id=one run=RUN evicted=0 version=3 votes=one@3"
		gone   = "deployment=d run=RUN evicted=0 version=3"
		all    = "done done done"
		unfit  = "UNFIT UNFIT done"
	)
	for kind, r := range bothKinds(t) {
		for _, x := range []registerStep{
			{"one that is fit", served, "batch one@3", all, served + " looked=NOW"},
			{"and looked long ago", served + " looked=1", "batch one@3", all, served + " looked=NOW"},
			{"or in a time to come: its clock was set back", served + " looked=9999999999999", "batch one@3", all, served + " looked=NOW"},
			{"or at no time", served + " looked=x", "batch one@3", all, served + " looked=NOW"},
			{"one that is durable", served + " durable=yes", "batch one@3", all, served + " durable=yes looked=NOW"},
			{"one that evicted keys", served + " evicted=-1", "batch one@3", "NOTMEMBER", gone + " evicted=-1"},
			{"before it got its id", served + " evicted=0", "batch one@3", all, served + " evicted=0 looked=NOW"},
			{"one whose AOF was off, and is on again", served + " durable=yes weak=yes", "batch one@3", unfit, "="},
			{"and is durable no more", served + " durable=no weak=yes", "batch one@3", all, served + " durable=no weak=yes looked=NOW"},

			{"the process before, on a connection that was kept", "deployment=d id=one run=before version=3 votes=one@3", "batch one@3", "NOTMEMBER", "="},
			{"also if it is durable", "deployment=d id=one run=before version=3 votes=one@3 durable=yes", "batch one@3", "NOTMEMBER", "="},

			{"a batch of another version", served + " evicted=-1", "batch one@2", "VERSION VERSION done", "="},
			{"a batch of none", served + " evicted=-1", "batch one@", "VERSION VERSION done", "="},
			{"one that does not vote", gone + " id=one evicted=-1", "batch one@3", "VERSION VERSION done", "="},
			{"a batch for another member", served, "batch two@3", "NOTMEMBER", "="},
			{"also without a version", served, "batch two@", "NOTMEMBER", "="},
			{"a batch for nobody", served, "batch @3", "NOTMEMBER", "="},
			{"a batch without a member", served, "batch 3", "NOTMEMBER", "="},
			{"one that is no member any more", gone, "batch one@3", "NOTMEMBER", "="},
			{"and a batch for nobody", gone, "batch @3", "NOTMEMBER", "="},
			{"one that never was a member", "", "batch one@3", "NOTMEMBER", "="},
			{"and a batch for nobody, at no version", "", "batch @", "NOTMEMBER", "="},
		} {
			x.require(t, kind, r)
		}
	}
	for kind, r := range bothPromoted(t) {
		for _, x := range []registerStep{
			{"one that was a replica since it got its id", served, "batch one@3", "NOTMEMBER", gone},
			{"before it did", served + " replid2=REPLID", "batch one@3", all, served + " replid2=REPLID looked=NOW"},
			{"before it did, and another time", served + " replid2=x", "batch one@3", "NOTMEMBER", gone + " replid2=x"},
		} {
			x.require(t, kind, r)
		}
	}

	for _, x := range []struct {
		happens func(server) error
		registerStep
	}{
		{mayEvict, registerStep{"it may evict keys", served, "batch one@3", unfit, "="}},
		{mayEvict, registerStep{"it may, and looked not long ago: its clock was set back", served + " looked=9999999999999", "batch one@3", unfit, "="}},
		{set("maxmemory-policy", "allkeys-lru"), registerStep{"it would if it had a limit", served, "batch one@3", all, served + " looked=NOW"}},
		{set("maxmemory", "1073741824"), registerStep{"it has a limit", served, "batch one@3", all, served + " looked=NOW"}},
		{evicts, registerStep{"it evicted keys", served + " evicted=0", "batch one@3", "NOTMEMBER", gone + " evicted=0"}},
		{evicts, registerStep{"it evicted keys, and nobody noted how many it had before", served, "batch one@3", "NOTMEMBER", gone}},
		{follows, registerStep{"it is a replica", served, "batch one@3", "UNFIT UNFIT READONLY", "="}},
		{promoted, registerStep{"it was one", served + " replid2=", "batch one@3", "NOTMEMBER", gone + " replid2="}},
		{aofOff, registerStep{"its AOF is off", served + " durable=yes", "batch one@3", unfit, served + " durable=yes weak=yes"}},
		{thenLooked(aofOff), registerStep{"and it looked just now", served + " durable=yes", "batch one@3", unfit, served + " durable=yes looked=NOW weak=yes"}},
		{aofOff, registerStep{"which is as it was founded", served + " durable=no", "batch one@3", all, served + " durable=no looked=NOW"}},
		{aofOff, registerStep{"of which its table says nothing", served, "batch one@3", all, served + " looked=NOW"}},
	} {
		for _, s := range freshServers(t) {
			x.requireOn(t, s, x.happens)
		}
	}
}

// A server that is unfit promises and accepts nothing, gets no counters and no id, and keeps none
// over a restart. It learns what others decided: that is how it becomes fit.
func TestWhatAnUnfitServerRefuses(t *testing.T) {
	t.Parallel()
	const (
		member = "deployment=d id=one run=RUN version=3 durable=yes votes=one@3 table=DURABLE counter=7"
		before = "deployment=d id=one run=before version=3 durable=yes votes=one@3"
		fresh  = "deployment=d id=one run=RUN evicted=0 replid2="
		ours   = fresh + " claim=a,b claimed=3"
		learnt = "deployment=d id=one run=RUN promised=4 version=4 durable=no votes=one@4 table=TABLE maxTTL=60000 learned=NOW counter=7"
	)
	both := []registerStep{
		{"a promise", member, "promise one 4", "UNFIT", "="},
		{"a table", member, "accept one 4 DURABLE d", "UNFIT", "="},
		{"one in which it is not durable", member, "accept one 4 TABLE d", "UNFIT", "="},
		{"one that it has", member, "accept one 3 DURABLE d", "1", "="},
		{"one that is committed", member, "learn one 4 TABLE d", "0", learnt},
		{"counters", member, "sync one 3 1 8", "UNFIT", "="},
		{"counters of others", member, "sync one 3 0 8", "UNFIT", "="},
		{"to tell its own", member, "counters one 3", "[7]", "="},
		{"it did not restart", member, "adopt RUN one 3", "1", "="},
	}
	for _, x := range []struct {
		cause   string
		happens func(server) error
		steps   []registerStep
		real    bool // the embedded masters do not do it
	}{
		{"it may evict keys", mayEvict, slices.Concat(both, []registerStep{
			{"it restarted", before, "adopt RUN one 3", "UNFIT", "="},
			{"an init", "", "claim RUN d one a,b 3", "UNFIT", "="},
			{"another one", ours, "claim RUN e two a,b 4", "UNFIT", "="},
			{"by force", member, "claim RUN e two a,b 4 force", "UNFIT", "="},
			{"an id", "", "enroll RUN '' d one 3", "UNFIT", "="},
			{"another id", "deployment=d id=one run=before", "enroll RUN one d two 3", "UNFIT", "="},
		}), false},
		{"its AOF is off", aofOff, slices.Concat(both, []registerStep{
			{"it restarted", before, "adopt RUN one 3", "NOTMEMBER", "="},
			{"an init: a new id is durable by no table", "", "claim RUN d one a,b 3", "one", ours},
			{"an id", "", "enroll RUN '' d one 3", "1", fresh},
			{"a promise of one that is not durable", "deployment=d id=one run=RUN version=3 durable=no", "promise one 4", "[3  ]",
				"deployment=d id=one run=RUN version=3 durable=no promised=4"},
		}), false},
		{"it is a replica", follows, []registerStep{{"a promise", member, "promise one 4", "UNFIT", "="}}, false},
		{"its AOF was off for a while since", aofOnAnew, []registerStep{{"it restarted", before, "adopt RUN one 3", "NOTMEMBER", "="}}, true},
	} {
		for _, s := range freshServers(t) {
			if x.real && s.fake != nil {
				continue
			}
			for _, step := range x.steps {
				step.claim = x.cause + ": " + step.claim
				step.requireOn(t, s, x.happens)
			}
		}
	}
}

// verifies is a batch that writes nothing.
func verifies(r *redis.Client) error {
	_, err := direct.Run(context.Background(), r, "eval", script.BatchSource, limits.DefaultPrefix, "one@1", script.Verify.Call([]*string{&holder.Keys.Lock}, uint64(100)))
	return err
}

func lookedAt(t *testing.T, r *redis.Client) time.Time {
	t.Helper()
	ms, err := r.HGet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "looked").Int64()
	harness.Must(t, err)
	return time.UnixMilli(ms)
}

// A master looks once in LookEvery by its clock; and at once if that was set back.
func TestAMasterLooksOnceInAWhile(t *testing.T) {
	t.Parallel()
	for _, durable := range []string{"no", "yes"} {
		harness.InVirtualTime(t, 1, func(t *testing.T, d *harness.Deployment) {
			r, fake := d.Raw[0], d.Masters[0].(harness.EmbeddedMaster)
			harness.Must(t, memberOfOne(r))
			harness.Must(t, r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "durable", durable).Err())
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
				harness.Must(t, verifies(r))
				if looked := lookedAt(t, r).Sub(begin); looked != x.looked {
					t.Errorf("durable: %s: %v later, with a clock that is wrong by %v, it last looked at %v, want %v", durable, x.after, x.clock, looked, x.looked)
				}
			}
		})
	}
}

// A server publishes which member it is, and replies how many receive that.
func TestAServerPublishesWhichMemberItIs(t *testing.T) {
	t.Parallel()
	here := func(r *redis.Client) int64 {
		t.Helper()
		n, err := r.Eval(context.Background(), script.HereSource, []string{script.RegisterKey(limits.DefaultPrefix)}, "channel").Int64()
		harness.Must(t, err)
		return n
	}
	for kind, r := range bothKinds(t) {
		if n := here(r); n != 0 {
			t.Errorf("%s: nobody is subscribed, and %d receive it", kind, n)
		}
		sub := r.Subscribe(context.Background(), "channel")
		t.Cleanup(func() { _ = sub.Close() })
		_, err := sub.Receive(context.Background())
		harness.Must(t, err)
		for _, x := range []struct {
			set  func() error
			want string
		}{
			{func() error { return nil }, "here "},
			{func() error { return memberOfOne(r) }, "here one"},
			{func() error {
				return r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "id", "two").Err()
			}, "here two"},
			{func() error { // it lost a counter
				return r.HDel(context.Background(), script.RegisterKey(limits.DefaultPrefix), "id", "votes").Err()
			}, "here "},
		} {
			harness.Must(t, x.set())
			n := here(r)
			m, err := sub.ReceiveMessage(context.Background())
			harness.Must(t, err)
			if m.Payload != x.want || m.Channel != "channel" || n != 1 {
				t.Errorf("%s: %d receive %q on %s, want one %q", kind, n, m.Payload, m.Channel, x.want)
			}
		}
	}
}

// A report has the register, and what the server says of itself now. It changes nothing.
func TestWhatAServerReports(t *testing.T) {
	t.Parallel()
	const served = "deployment=d id=one run=RUN version=3 votes=one@3"
	type row struct {
		claim, register string
		happens         func(server) error
		now             map[string]string // what it says beside .run and .aof, by how that begins
	}
	require := func(s server, x row, aof string) {
		t.Helper()
		kind, r := s.kind, s.r
		info, err := r.Info(context.Background()).Result()
		harness.Must(t, err)
		is, key := membership.ParseInfo(info), script.RegisterKey(limits.DefaultPrefix)
		harness.Must(t, r.FlushAll(context.Background()).Err())
		register := fieldsOf(strings.NewReplacer("RUN", is["run_id"], "REPLID", is["master_replid2"], "TABLE", oneMember), x.register)
		for field, value := range register {
			harness.Must(t, r.HSet(context.Background(), key, field, value).Err())
		}
		harness.Must(t, x.happens(s))
		said := redis.NewMapStringStringCmd(context.Background(), "eval", script.ReportSource, 1, key)
		harness.Must(t, r.Process(context.Background(), said))
		got, want := said.Val(), maps.Clone(register)
		want[".run"], want[".aof"] = is["run_id"], aof
		for _, name := range []string{".unfit", ".weak", ".forgot", ".replica", ".type"} {
			value, told := got[name]
			if prefix := strings.ReplaceAll(x.now[name], "REPLID", is["master_replid2"]); prefix != "" && strings.HasPrefix(value, prefix) || value == "" {
				delete(got, name)
				if (prefix != "") != (value != "") {
					t.Errorf("%s: %s: it says nothing as %s", kind, x.claim, name)
				}
			}
			if !told {
				t.Errorf("%s: %s: the report has no %s", kind, x.claim, name)
			}
		}
		if x.now[".type"] != "" {
			delete(got, "deployment") // of which it knows nothing
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %s: the report has\n%v, want\n%v and %v", kind, x.claim, got, want, x.now)
		}
		if now := r.HGetAll(context.Background(), key).Val(); r.Type(context.Background(), key).Val() != "string" && !maps.Equal(now, register) {
			t.Errorf("%s: %s: it leaves the register %v, of %v", kind, x.claim, now, register)
		}
	}
	weak := map[string]string{".weak": "its settings are not durable any more"}
	for _, s := range freshServers(t) {
		for _, x := range []row{
			{"one that is new", "", nothing, nil},
			{"a member", served + " table=TABLE promised=3 durable=no maxTTL=60000 names:one=a synced=3 looked=1", nothing, nil},
			{"one that is durable", served + " durable=yes", nothing, nil},
			{"and was not, for a while", served + " durable=yes weak=yes", nothing, weak},
			{"before it restarted", strings.ReplaceAll(served, "RUN", "before") + " durable=yes weak=yes", nothing, nil},
			{"one that is not durable", served + " durable=no weak=yes", nothing, nil},
			{"one that evicted keys", served + " evicted=-1", nothing, map[string]string{".forgot": "it evicted keys"}},
			{"under another id", "deployment=d run=RUN evicted=-1", nothing, nil},
			{"before it restarted", strings.ReplaceAll(served, "RUN", "before") + " evicted=-1", nothing, nil},
			{"one whose register is something else", "", func(s server) error {
				return s.r.Set(context.Background(), script.RegisterKey(limits.DefaultPrefix), "x", 0).Err()
			}, map[string]string{".type": "other"}},
		} {
			require(s, x, "loaded")
		}
	}
	for kind, r := range bothPromoted(t) {
		s := server{t, kind, r, nil}
		require(s, row{"a replica since", served, nothing, map[string]string{".replica": "REPLID", ".forgot": "it was a replica"}}, "loaded")
		require(s, row{"a replica before", served + " replid2=REPLID", nothing, map[string]string{".replica": "REPLID"}}, "loaded")
		require(s, row{"a replica that has no id", "", nothing, map[string]string{".replica": "REPLID"}}, "loaded")
	}
	for _, x := range []struct {
		row
		aof string
	}{
		{row{"it may evict keys", served, mayEvict, map[string]string{".unfit": "it may evict keys (maxmemory-policy allkeys-lru): set"}}, "loaded"},
		{row{"it may, and is new", "", mayEvict, map[string]string{".unfit": "it may evict keys"}}, "loaded"},
		{row{"it evicted keys", served, evicts, map[string]string{".forgot": "it evicted keys, and lacks data"}}, "loaded"},
		{row{"it is a replica", served, follows, map[string]string{".unfit": `its role is "slave": give`}}, "loaded"},
		{row{"its AOF is off", served + " durable=yes", aofOff, weak}, "off"},
		{row{"it has none", served, aofOff, nil}, "off"},
	} {
		for _, s := range freshServers(t) {
			require(s, x.row, x.aof)
		}
	}
}
