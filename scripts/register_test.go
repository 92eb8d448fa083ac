package scripts_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// registeredMember is a server with the register of memberOfOne, which a test asks for steps of
// changes one by one.
type registeredMember struct {
	t *testing.T
	r *redis.Client
}

// oneMember is the table of a deployment of one member. In durableMember, it is durable.
const (
	oneMember     = `{"format":"3","buckets":4096,"maxTTL":60000,"drift":0.01,"members":[{"id":"one","state":"voting","address":"a"}],"prev":["one"]}`
	durableMember = `{"format":"3","buckets":4096,"maxTTL":60000,"drift":0.01,"members":[{"id":"one","state":"voting","address":"a","durable":true}],"prev":["one"]}`
)

// do runs a step: a verb, a ballot, and for accept and learn what the table says of the member. It
// returns the reply, or the code of the error.
func (m registeredMember) do(step string) string {
	m.t.Helper()
	words := strings.Fields(step)
	verb, ballot, state := words[0], words[1], "voting"
	if len(words) > 2 {
		state = words[2]
	}
	table := strings.Replace(oneMember, "voting", state, 1)
	id, deployment := "one", "d"
	switch state {
	case "durable":
		table = durableMember
	case "gone":
		table = strings.ReplaceAll(oneMember, `"one"`, `"two"`)
	case "removed": // it was in the table before, and still has a say in this one
		table = strings.Replace(oneMember, `"one"`, `"two"`, 1)
	case "another": // the call is for other data
		id, table = "another", strings.ReplaceAll(oneMember, `"one"`, `"another"`)
	case "elsewhere":
		deployment = "e"
	}
	source, args := script.PromiseSource, []any{id, ballot}
	switch verb {
	case "accept":
		source, args = script.AcceptSource, append(args, table, deployment)
	case "learn":
		source, args = script.LearnSource, append(args, table, deployment)
	}
	reply, err := m.r.Eval(context.Background(), source, []string{script.RegisterKey(limits.DefaultPrefix)}, args...).Result()
	if err != nil {
		code, rest, _ := strings.Cut(err.Error(), " ")
		if code == "PROMISED" {
			code += " " + rest
		}
		return code
	}
	switch reply := reply.(type) {
	case []any:
		return fmt.Sprintf("%v/%v", reply[0], reply[2])
	case int64:
		if reply > 0 && verb == "learn" {
			return "longer"
		}
		return fmt.Sprint(reply)
	}
	return fmt.Sprint(reply)
}

// state is what the register has.
func (m registeredMember) state() string {
	m.t.Helper()
	is, err := m.r.HGetAll(context.Background(), script.RegisterKey(limits.DefaultPrefix)).Result()
	harness.Must(m.t, err)
	text := fmt.Sprintf("version %s, promised %s", is["version"], is["promised"])
	if is["votes"] != "" {
		text += ", votes " + is["votes"]
	}
	if is["durable"] == "yes" {
		text += ", durable"
	}
	if is["weak"] != "" {
		text += ", weak"
	}
	if is["learned"] != "" {
		text += ", learned"
	}
	return text
}

// What a member answers to the steps of changes, in whatever order they come, and what it knows
// then. It begins at version 1, which it has accepted and has not learned to be committed.
func TestStepsOfChangesInAnyOrder(t *testing.T) {
	t.Parallel()
	both := bothKinds(t)
	for _, x := range []struct {
		claim string
		steps string // "step = reply; ..."
		state string
	}{
		{"a change", "promise 2 = 1/; accept 2 = 1; learn 2 = 0", "version 2, promised 2, votes one@2, learned"},
		{"the reply to a promise tells what was committed", "learn 1 = 0; promise 2 = 1/1", "version 1, promised 2, votes one@1, learned"},
		{"an accepted version is not known to be committed", "learn 1 = 0; promise 2 = 1/1; accept 2 = 1; promise 3 = 2/", "version 2, promised 3, votes one@2"},

		{"a promise is given once", "promise 7 = 1/; promise 7 = PROMISED 7", "version 1, promised 7, votes one@1"},
		{"and to no lower ballot", "promise 7 = 1/; promise 6 = PROMISED 7; promise 8 = 1/", "version 1, promised 8, votes one@1"},
		{"what it accepts is promised", "accept 5 = 1; promise 5 = PROMISED 5; promise 4 = PROMISED 5; accept 4 = PROMISED 5", "version 5, promised 5, votes one@5"},
		{"none below the promise is accepted", "promise 7 = 1/; accept 6 = PROMISED 7", "version 1, promised 7, votes one@1"},
		{"that ballot is, and once more", "promise 7 = 1/; accept 7 = 1; accept 7 = 1", "version 7, promised 7, votes one@7"},
		{"and one above", "promise 7 = 1/; accept 8 = 1; accept 7 = PROMISED 8", "version 8, promised 8, votes one@8"},
		{"the version that it has is accepted again whatever it promised", "promise 7 = 1/; accept 1 = 1", "version 1, promised 7, votes one@1"},

		{"a committed version takes no promise back", "promise 7 = 1/; learn 5 = 0; accept 6 = PROMISED 7; promise 7 = PROMISED 7", "version 5, promised 7, votes one@5, learned"},
		{"nor does the version that it has", "promise 7 = 1/; learn 1 = 0; accept 6 = PROMISED 7", "version 1, promised 7, votes one@1, learned"},
		{"one that is as high as the promise keeps it", "promise 7 = 1/; learn 7 = 0; promise 7 = PROMISED 7; promise 8 = 7/1", "version 7, promised 8, votes one@7, learned"},
		{"one above it raises it", "promise 7 = 1/; learn 9 = 0; accept 8 = PROMISED 9; promise 9 = PROMISED 9", "version 9, promised 9, votes one@9, learned"},
		{"one that it is beyond is not taken", "accept 5 = 1; learn 4 = -1", "version 5, promised 5, votes one@5"},
		{"nor as long as it is known", "learn 5 = 0; learn 4 = -1; learn 5 = longer", "version 5, promised 5, votes one@5, learned"},
		{"each version is learned anew", "learn 1 = 0; learn 1 = longer; learn 2 = 0; accept 3 = 1; learn 3 = 0", "version 3, promised 3, votes one@3, learned"},

		{"one that is new does not vote", "promise 2 = 1/; accept 2 new = 1; learn 2 new = 0", "version 2, promised 2, learned"},
		{"nor one that is suspended", "learn 2 suspended = 0", "version 2, promised 2, learned"},
		{"nor one that is removed, which has a say", "promise 2 = 1/; accept 2 removed = 1; learn 2 removed = 0", "version 2, promised 2, learned"},
		{"it votes again", "accept 2 suspended = 1; accept 3 = 1", "version 3, promised 3, votes one@3"},
		{"a table without it does not concern it", "accept 2 gone = NOTMEMBER; learn 2 gone = NOTMEMBER", "version 1, promised 1, votes one@1"},
		{"other data is not asked", "promise 2 another = NOTMEMBER; accept 2 another = NOTMEMBER; learn 2 another = NOTMEMBER", "version 1, promised 1, votes one@1"},
		{"one that restarted, and may have lost data, has no say", "restart = ; promise 2 = NOTMEMBER; accept 2 = NOTMEMBER; learn 2 = NOTMEMBER; learn 1 = NOTMEMBER", "version 1, promised 1, votes one@1"},
		{"nor has one that evicted keys", "evict = ; promise 2 = NOTMEMBER; accept 2 = NOTMEMBER; learn 2 = NOTMEMBER; learn 1 = NOTMEMBER", "version 1, promised 1, votes one@1"},

		{"whether it is durable is what its table says", "accept 2 durable = 1; promise 3 = 2/; accept 3 durable = 1", "version 3, promised 3, votes one@3, durable"},
		{"that of the last one", "accept 2 durable = 1; accept 3 = 1", "version 3, promised 3, votes one@3"},
		{"it learns that too", "learn 2 durable = 0; learn 3 = 0; learn 4 durable = 0", "version 4, promised 4, votes one@4, durable, learned"},
		{"one whose AOF was off promises and accepts nothing", "accept 2 durable = 1; weaken = ; promise 3 = UNFIT; accept 3 durable = UNFIT; accept 3 = UNFIT; promise 1 = UNFIT", "version 2, promised 2, votes one@2, durable, weak"},
		{"but what it has accepted already", "accept 2 durable = 1; weaken = ; accept 2 durable = 1", "version 2, promised 2, votes one@2, durable, weak"},
		{"it learns that it is not durable, and takes part again", "accept 2 durable = 1; weaken = ; learn 3 = 0; promise 4 = 3/1; accept 4 = 1; learn 4 = 0", "version 4, promised 4, votes one@4, weak, learned"},
		{"it learns that it is suspended", "accept 2 durable = 1; weaken = ; learn 3 suspended = 0; promise 4 = 3/1", "version 3, promised 4, weak, learned"},
		{"it learns other tables, which help it to nothing", "accept 2 durable = 1; weaken = ; learn 3 durable = 0; promise 4 = UNFIT; accept 4 = UNFIT; learn 3 durable = longer", "version 3, promised 3, votes one@3, durable, weak, learned"},
		{"a table that has it as durable again takes the note off no more", "accept 2 durable = 1; weaken = ; learn 3 = 0; accept 4 durable = 1; promise 5 = UNFIT; accept 5 durable = UNFIT", "version 4, promised 4, votes one@4, durable, weak"},
		{"nor another deployment", "accept 2 elsewhere = NOTMEMBER; learn 2 elsewhere = NOTMEMBER; learn 1 elsewhere = NOTMEMBER", "version 1, promised 1, votes one@1"},
	} {
		for kind, r := range both {
			harness.Must(t, r.FlushAll(context.Background()).Err())
			harness.Must(t, memberOfOne(r))
			m := registeredMember{t, r}
			for line := range strings.SplitSeq(x.steps, "; ") {
				step, want, _ := strings.Cut(line, " = ")
				if want == "longer" {
					m.learnedAgo(time.Second)
				}
				if field, happened := map[string][]any{
					"restart": {"run", "before"}, // the data is that of the process before
					"evict":   {"evicted", "-1"}, // fewer than its server has
					"weaken":  {"weak", "yes"},   // its AOF was off, and is on again
				}[step]; happened {
					harness.Must(t, r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), field...).Err())
					continue
				}
				if got := m.do(step); got != want {
					t.Errorf("%s: %s: %s is answered %s, want %s", x.claim, kind, step, got, want)
				}
			}
			if got := m.state(); got != x.state {
				t.Errorf("%s: %s: %s, want %s", x.claim, kind, got, x.state)
			}
		}
	}
}

// learnedAgo moves back the moment when the member learned that its version is committed.
func (m registeredMember) learnedAgo(ago time.Duration) {
	m.t.Helper()
	now, err := m.r.Time(context.Background()).Result()
	harness.Must(m.t, err)
	harness.Must(m.t, m.r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "learned", now.Add(-ago).UnixMilli()).Err())
}

// For how long a member has known that its version is committed is told by its own clock. If that
// was set back since, the time begins anew: it is told too short, never too long.
func TestHowLongAVersionIsKnown(t *testing.T) {
	t.Parallel()
	for kind, r := range bothKinds(t) {
		m := registeredMember{t, r}
		for _, x := range []struct{ ago, least, most time.Duration }{
			{0, 0, time.Minute},
			{time.Hour, time.Hour, time.Hour + time.Minute},
			{-time.Hour, 0, 0}, // it was set back by an hour
		} {
			harness.Must(t, memberOfOne(r))
			m.learnedAgo(x.ago)
			known := func() time.Duration {
				ms, err := r.Eval(context.Background(), script.LearnSource, []string{script.RegisterKey(limits.DefaultPrefix)}, "one", "1", oneMember, "d").Int64()
				harness.Must(t, err)
				return time.Duration(ms) * time.Millisecond
			}
			if got := known(); got < x.least || got > x.most {
				t.Errorf("%s: learned %v ago, and told %v", kind, x.ago, got)
			}
			if got := known(); got < x.least || got > x.most+time.Minute {
				t.Errorf("%s: learned %v ago, and told %v when it is asked again", kind, x.ago, got)
			}
		}
	}
}
