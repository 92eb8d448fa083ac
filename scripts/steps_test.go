package scripts_test

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/script"
)

// stepSources are the steps of a founding, of a member that comes home, and of a change.
var stepSources = map[string]string{
	"promise": script.PromiseSource, "accept": script.AcceptSource, "learn": script.LearnSource,
	"adopt": script.AdoptSource, "weak": script.WeakSource, "claim": script.ClaimSource, "found": script.FoundSource, "enroll": script.EnrollSource,
	"counters": script.CountersSource, "sync": script.SyncSource,
}

// What a server answers to these steps, by what its register has, and what it has then. In a
// register, RUN and REPLID stand for the server's run id and for that which it had as a replica,
// TABLE, DURABLE and NEW for a table in which member "one" votes, is durable or is new, and counter
// for its one counter. NOW stands for a time while the step ran. What a step leaves as it was is
// not said again: "=".
func TestStepsOfARegister(t *testing.T) {
	t.Parallel()
	const (
		served = "deployment=d id=one run=RUN version=3 votes=one@3"
		member = "deployment=d id=one run=RUN version=3 table=TABLE"
		fresh  = "deployment=d id=one run=RUN evicted=0 replid2="
		ours   = fresh + " claim=a,b claimed=3"
		before = "deployment=d id=one run=before version=3 durable=yes votes=one@3"
		first  = fresh + " promised=3 version=3 votes=one@3 table=TABLE maxTTL=60000 durable=no"
	)
	var (
		most  = strconv.FormatInt(script.MaxCounter, 10)
		below = strconv.FormatInt(script.MaxCounter-1, 10)
	)
	steps := []registerStep{
		{"what forgot nothing keeps its id", before, "adopt RUN one 3", "1", "deployment=d id=one run=RUN version=3 durable=yes votes=one@3 evicted=0"},
		{"what the process before evicted it noticed itself", before + " evicted=7", "adopt RUN one 3", "1", "deployment=d id=one run=RUN version=3 durable=yes votes=one@3 evicted=0"},
		{"it restarted once more", before, "adopt earlier one 3", "NOTMEMBER", "="},
		{"it has another id by now", before, "adopt RUN two 3", "NOTMEMBER", "="},
		{"it has another table by now", before, "adopt RUN one 2", "NOTMEMBER", "="},
		{"it has a table by now", before, "adopt RUN one ''", "NOTMEMBER", "="},
		{"its table has it as not durable", "id=one run=before version=3 durable=no", "adopt RUN one 3", "NOTMEMBER", "="},
		{"no table has it as durable", "id=one run=before", "adopt RUN one ''", "NOTMEMBER", "="},
		{"what was noted of the process before is over", before + " weak=yes", "adopt RUN one 3", "1", "deployment=d id=one run=RUN version=3 durable=yes votes=one@3 evicted=0"},
		{"it lost its id before it restarted", "deployment=d run=before version=3 durable=yes", "adopt RUN one 3", "NOTMEMBER", "="},
		{"it did not restart", served + " durable=yes", "adopt RUN one 3", "1", "="},
		{"it did not, and its table has it as not durable", served + " durable=no", "adopt RUN one 3", "1", "="},
		{"it did not, and evicted keys", served + " durable=yes evicted=-1", "adopt RUN one 3", "NOTMEMBER", "="},

		{"its settings are not durable any more", served + " durable=yes looked=5", "weak one yes", "1", served + " durable=yes weak=yes"},
		{"they still are not", served + " durable=yes weak=yes", "weak one yes", "1", "="},
		{"they are again", served + " durable=yes weak=yes looked=5", "weak one no", "1", served + " durable=yes"},
		{"of other data", served + " weak=yes", "weak two no", "NOTMEMBER", "="},
		{"of the process before", before, "weak one yes", "NOTMEMBER", "="},
		{"and evicted keys", served + " evicted=-1 weak=yes", "weak one no", "NOTMEMBER", "="},

		{"a server of nobody's", "", "claim RUN d one a,b 3", "one", ours},
		{"it restarted meanwhile", "", "claim before d one a,b 3", "CLAIMED", "="},
		{"one that was founded", served, "claim RUN e two a,b 9", "BELONGS", "="},
		{"by force, with another id and without its promises", served + " promised=4 weak=yes synced=3 looked=1", "claim RUN e two a,b 2 force", "two",
			"deployment=e id=two run=RUN evicted=0 replid2= claim=a,b claimed=2"},
		{"an init of the same servers with a higher ballot goes on", ours, "claim RUN e two a,b 4", "one", "deployment=e id=one run=RUN evicted=0 replid2= claim=a,b claimed=4"},
		{"and keeps the promises", ours + " promised=8", "claim RUN e two a,b 4", "one", "deployment=e id=one run=RUN evicted=0 replid2= claim=a,b claimed=4 promised=8"},
		{"one as high does not", ours, "claim RUN e two a,b 3", "CLAIMED", "="},
		{"a second copy of the call", ours, "claim RUN d two a,b 3", "one", "="},
		{"by force as well", ours + " promised=8", "claim RUN d two a,b 3 force", "one", "="},
		{"a copy that comes after the table", served, "claim RUN d two a,b 3", "BELONGS", "="},
		{"nor a lower one", ours, "claim RUN e two a,b 2", "CLAIMED", "="},
		{"nor one of other servers", ours, "claim RUN e two a,c 4", "CLAIMED", "="},
		{"but by force", ours, "claim RUN e two a,c 4 force", "one", "deployment=e id=one run=RUN evicted=0 replid2= claim=a,c claimed=4"},
		{"and not below", ours, "claim RUN e two a,c 3 force", "CLAIMED", "="},
		{"data of the process before keeps no id", "deployment=d id=one run=before claim=a,b claimed=3 promised=8", "claim RUN e two a,b 4", "two",
			"deployment=e id=two run=RUN evicted=0 replid2= claim=a,b claimed=4"},
		{"nor does data of which keys were evicted", "deployment=d id=one run=RUN evicted=-1 claim=a,b claimed=3 promised=8", "claim RUN e two a,b 4", "two",
			"deployment=e id=two run=RUN evicted=0 replid2= claim=a,b claimed=4"},

		{"the first table", ours, "found d one 3 TABLE", "1", first},
		{"that has it as durable", ours, "found d one 3 DURABLE", "1", fresh + " promised=3 version=3 votes=one@3 table=DURABLE maxTTL=60000 durable=yes"},
		{"once more", member, "found d one 3 TABLE", "1", "="},
		{"another ballot has claimed it", ours, "found d one 4 TABLE", "CLAIMED", "="},
		{"another deployment", ours, "found e one 3 TABLE", "CLAIMED", "="},
		{"another server has accepted it", ours, "found e one 4 TABLE finish", "1",
			"deployment=e id=one run=RUN evicted=0 replid2= promised=4 version=4 votes=one@4 table=TABLE maxTTL=60000 durable=no"},
		{"nobody claimed it", "deployment=d id=one run=RUN", "found d one 3 TABLE finish", "CLAIMED", "="},
		{"other data", ours, "found d two 3 TABLE finish", "CLAIMED", "="},
		{"data of the process before", "deployment=d id=one run=before claim=a,b claimed=3", "found d one 3 TABLE finish", "CLAIMED", "="},
		{"data of which keys were evicted", "deployment=d id=one run=RUN evicted=-1 claim=a,b claimed=3", "found d one 3 TABLE finish", "CLAIMED", "="},
		{"a table without it", strings.ReplaceAll(ours, "one", "two"), "found d two 3 TABLE finish", "CLAIMED", "="},
		{"it promised a higher ballot", ours + " promised=4", "found d one 3 TABLE", "CLAIMED", "="},
		{"it did, and another has accepted it", ours + " promised=4", "found d one 3 TABLE finish", "CLAIMED", "="},
		{"it promised this one", ours + " promised=3", "found d one 3 TABLE", "1", first},
		{"it is claimed for another deployment, and a table of the one before comes", strings.ReplaceAll(ours, "deployment=d", "deployment=e"), "accept one 6 TABLE d", "NOTMEMBER", "="},
		{"also as one that is committed", strings.ReplaceAll(ours, "deployment=d", "deployment=e"), "learn one 6 TABLE d", "NOTMEMBER", "="},

		{"a server that is new", "", "enroll RUN '' d one 3", "1", fresh},
		{"one that restarted since", "", "enroll before '' d one 3", "NOTMEMBER", "="},
		{"one that got an id since", served, "enroll RUN '' d two 9", "NOTMEMBER", "="},
		{"one that has another id", served, "enroll RUN three d two 9", "NOTMEMBER", "="},
		{"one that an init claims", "deployment=d id=one run=before claim=a,b", "enroll RUN one d two 9", "NOTMEMBER", "="},
		{"one that no table lists yet", "deployment=d id=one run=RUN", "enroll RUN one d two 9", "NOTMEMBER", "="},
		{"one that a later table may list", served, "enroll RUN one d two 2", "NOTMEMBER", "="},
		{"one that the last table does not list", served, "enroll RUN one d two 3", "1", "deployment=d id=two run=RUN evicted=0 replid2="},
		{"one that a later table does not list, with all that it had", served + " promised=4 durable=yes weak=yes synced=3 looked=1", "enroll RUN one d two 4", "1",
			"deployment=d id=two run=RUN evicted=0 replid2="},
		{"one that forgot something", before, "enroll RUN one d two 2", "1", "deployment=d id=two run=RUN evicted=0 replid2="},
		{"one that evicted keys", served + " evicted=-1", "enroll RUN one d two 2", "1", "deployment=d id=two run=RUN evicted=0 replid2="},

		{"its counters", member + " counter=7", "counters one 3", "[7]", "="},
		{"of other data", member + " counter=7", "counters two 3", "NOTMEMBER", "="},
		{"of data of which keys were evicted", member + " evicted=-1 counter=7", "counters one 3", "NOTMEMBER", "="},
		{"of another version", member + " counter=7", "counters one 4", "NOTMEMBER", "="},
		{"of none", member + " counter=7", "counters one ''", "NOTMEMBER", "="},
		{"of one that is new", "deployment=d id=one run=RUN version=3 table=NEW counter=7", "counters one 3", "NOTMEMBER", "="},
		{"that are lost: it is no member any more", member + " votes=one@3", "counters one 3", "NOTMEMBER", "deployment=d run=RUN version=3 table=TABLE"},
		{"of a server that is founded", ours + " counter=7", "counters one ''", "[7]", "="},
		{"with none", ours, "counters one ''", "[0]", "="},
		{"with something else", ours + " counter=x", "counters one ''", "[0]", "="},
		{"with the highest that there is", ours + " counter=" + below, "counters one ''", "[" + below + "]", "="},
		{"beyond it", ours + " counter=" + most, "counters one ''", "[0]", "="},

		{"a member's counter rises", member + " counter=7", "sync one 3 1 8", "1", member + " counter=8"},
		{"and does not fall", member + " counter=9", "sync one 3 1 8", "1", "="},
		{"its loss is noticed", member, "sync one 3 1 8", "1", "="},
		{"at another version", member + " counter=7", "sync one 4 1 8", "NOTMEMBER", "="},
		{"of other data", member + " counter=7", "sync two 3 1 8", "NOTMEMBER", "="},
		{"of data of which keys were evicted", member + " evicted=-1 counter=7", "sync one 3 1 8", "NOTMEMBER", "="},
		{"one that has none of its own gets it", member, "sync one 3 0 8", "1", member + " synced=3 counter=8"},
		{"instead of one that cannot rise", member + " counter=" + most, "sync one 3 0 8", "1", member + " synced=3 counter=8"},
		{"and no lower one", member + " counter=9", "sync one 3 0 8", "1", member + " synced=3 counter=9"},
		{"whatever its version", member + " counter=7", "sync one 4 0 8", "1", member + " synced=4 counter=8"},
		{"but not other data", member, "sync two 3 0 8", "NOTMEMBER", "="},
		{"a member that is durable", member + " durable=yes counter=7", "sync one 3 1 8", "1", member + " durable=yes counter=8"},
		{"whose AOF was off for a while", member + " durable=yes weak=yes counter=7", "sync one 3 1 8", "UNFIT", "="},
		{"nor gets it those of others", member + " durable=yes weak=yes", "sync one 3 0 8", "UNFIT", "="},
		{"but one that is not durable", member + " durable=no weak=yes counter=7", "sync one 3 1 8", "1", member + " durable=no weak=yes counter=8"},
	}
	for kind, r := range bothKinds(t) {
		for _, x := range steps {
			x.require(t, kind, r)
		}
	}
	for kind, r := range bothPromoted(t) {
		for _, x := range []registerStep{
			{"a replica since it got its id", served + " durable=yes", "adopt RUN one 3", "NOTMEMBER", served},
			{"a replica before", served + " replid2=REPLID durable=yes", "adopt RUN one 3", "1", "="},
			{"a replica, and restarted", before, "adopt RUN one 3", "NOTMEMBER", "deployment=d id=one run=before version=3 votes=one@3"},
			{"which its id is of, but not its run", before + " replid2=REPLID", "adopt RUN one 3", "NOTMEMBER", "deployment=d id=one run=before version=3 votes=one@3 replid2=REPLID"},
			{"a new id is of what it has now", "", "enroll RUN '' d one 3", "1", "deployment=d id=one run=RUN evicted=0 replid2=REPLID"},
			{"so is a claim", "", "claim RUN d one a,b 3", "one", "deployment=d id=one run=RUN evicted=0 replid2=REPLID claim=a,b claimed=3"},
			{"which keeps no id of before", ours, "claim RUN d two a,b 4", "two", "deployment=d id=two run=RUN evicted=0 replid2=REPLID claim=a,b claimed=4"},
			{"and founds nothing with one", ours, "found d one 3 TABLE", "CLAIMED", "="},
			{"a replica since has no say: a promise", member, "promise one 4", "NOTMEMBER", member},
			{"a table", member, "accept one 4 TABLE d", "NOTMEMBER", member},
			{"one that is committed", member, "learn one 4 TABLE d", "NOTMEMBER", member},
			{"its counters", member + " counter=7", "counters one 3", "NOTMEMBER", member + " counter=7"},
			{"those of others", member + " counter=7", "sync one 3 1 8", "NOTMEMBER", member + " counter=7"},
			{"a replica before has what its id is of", served + " replid2=REPLID", "promise one 4", "[3  ]", served + " replid2=REPLID promised=4"},
		} {
			x.require(t, kind, r)
		}
	}
}

// registerStep is a step on a server with this register: its reply, and the register after it.
type registerStep struct{ claim, register, step, reply, after string }

// require runs the step.
func (x registerStep) require(t *testing.T, kind string, r *redis.Client) {
	t.Helper()
	x.requireAfter(t, kind, r, func(*redis.Client) error { return nil })
}

// requireAfter is require where something happens to the server when it has its register.
func (x registerStep) requireAfter(t *testing.T, kind string, r *redis.Client, happens func(*redis.Client) error) {
	t.Helper()
	claim, step, reply, after := x.claim, x.step, x.reply, x.after
	info, err := r.Info(context.Background()).Result()
	harness.Must(t, err)
	is := membership.ParseInfo(info)
	names := strings.NewReplacer("RUN", is["run_id"], "REPLID", is["master_replid2"], "''", "",
		"TABLE", oneMember, "DURABLE", durableMember, "NEW", strings.Replace(oneMember, "voting", "new", 1))
	hash, counter := script.RegisterKey(limits.DefaultPrefix), script.FenceKey(limits.DefaultPrefix, 0)
	harness.Must(t, r.FlushAll(context.Background()).Err())
	begin := fieldsOf(names, x.register)
	for field, value := range begin {
		if field == "counter" {
			harness.Must(t, r.Set(context.Background(), counter, value, 0).Err())
		} else {
			harness.Must(t, r.HSet(context.Background(), hash, field, value).Err())
		}
	}
	words := strings.Fields(step)
	if words[0] == "batch" {
		harness.Must(t, memberHolds(r))
	}
	from, err := r.Time(context.Background()).Result()
	harness.Must(t, err)
	harness.Must(t, happens(r))
	keys, args := []string{hash}, make([]any, len(words)-1)
	if words[0] == "counters" || words[0] == "sync" {
		keys = append(keys, counter)
	}
	for i, word := range words[1:] {
		args[i] = names.Replace(word)
	}
	var got string
	if words[0] == "batch" {
		got = batchOfThree(t, r, words[1])
	} else if replied, err := r.Eval(context.Background(), stepSources[words[0]], keys, args...).Result(); err != nil {
		got, _, _ = strings.Cut(err.Error(), " ")
	} else {
		got = fmt.Sprint(replied)
	}
	if got != reply {
		t.Errorf("%s: %s: %s is answered %s, want %s", kind, claim, step, got, reply)
	}
	want := begin
	if after != "=" {
		want = fieldsOf(names, after)
	}
	has := r.HGetAll(context.Background(), hash).Val()
	if value, err := r.Get(context.Background(), counter).Result(); err == nil {
		has["counter"] = value
	}
	to, err := r.Time(context.Background()).Result()
	harness.Must(t, err)
	for _, field := range []string{"looked", "learned"} {
		if at, err := strconv.ParseInt(has[field], 10, 64); err == nil && at >= from.UnixMilli() && at <= to.UnixMilli() {
			has[field] = "NOW"
		}
	}
	if !maps.Equal(has, want) {
		t.Errorf("%s: %s: after %s:\n%v, want\n%v", kind, claim, step, has, want)
	}
}

// fieldsOf reads "field=value field=value".
func fieldsOf(names *strings.Replacer, text string) map[string]string {
	fields := map[string]string{}
	for word := range strings.FieldsSeq(text) {
		field, value, _ := strings.Cut(word, "=")
		fields[field] = names.Replace(value)
	}
	return fields
}

// bothPromoted is bothKinds of servers that were replicas, and are masters.
func bothPromoted(t *testing.T) map[string]*redis.Client {
	t.Helper()
	fake := embedded.New()
	fake.Kill(false)
	fake.Promote()
	harness.Must(t, fake.Restart())
	both := besideRedis(t, fake)
	harness.Must(t, both["redis"].Do(context.Background(), "replicaof", "127.0.0.1", "1").Err())
	harness.Must(t, both["redis"].Do(context.Background(), "replicaof", "no", "one").Err())
	return both
}
