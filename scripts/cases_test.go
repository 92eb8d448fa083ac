package scripts_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/direct"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testservers"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// TestScripts runs the cases in testdata on an embedded master in virtual time, and on all releases of
// redis-server.
//
// The server begins as the only member of a deployment. This member is "one", at version 1, with counters at 7. A
// line of a case changes what the server stores (setUp), runs a script of the register (registerSources), or runs
// operations in one batch (call). " | " separates operations. A header before them replaces one@1. Below the dashes
// are the replies, the messages to subscribed channels, and the changed keys. Times are rounded up to 10 s.
//
// To write the part below the dashes:
//
//	go test -run TestScripts/embedded . -rewrite
func TestScripts(t *testing.T) {
	t.Parallel()
	if strings.Count(script.BatchSource, keptFor) != 1 {
		t.Fatal("queue.lua no longer has the time that is changed here")
	}
	t.Run("embedded", func(t *testing.T) { runCases(t, startEmbedded) })
	testservers.OnAll(t, func(t *testing.T, program string) {
		runCases(t, func(t *testing.T) *server { return newServer(t, startRedis(t, program), nil) })
	})
}

func startEmbedded(t *testing.T) *server {
	fake := embedded.New()
	t.Cleanup(fake.Close)
	r := redis.NewClient(fake.Options())
	t.Cleanup(func() { _ = r.Close() })
	return newServer(t, r, fake)
}

// startRedis returns a client of a redis-server with an AOF, because embedded masters also have an AOF.
func startRedis(t *testing.T, program string) *redis.Client {
	return harness.Processes(t, 1, redisproc.Config{Program: program, AppendFsync: "everysec"}).Raw[0]
}

// runCases runs all cases without causes on one server. For each combination of causes it starts another server.
func runCases(suite *testing.T, start func(*testing.T) *server) {
	servers := map[string]*server{}
	datadriven.Walk(suite, "testdata/cases", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			causes := fmt.Sprint(happened.FindAllString(d.Input, -1))
			s := servers[causes]
			if s == nil || strings.Contains(causes, "follows") || strings.Contains(causes, "evicted") {
				s = start(suite)
				servers[causes] = s
			}
			if d.Cmd == "redis" && s.fake != nil { // this case is only for redis-server
				return d.Expected
			}
			s.t = t
			return s.run(d.Input)
		})
	})
}

var happened = regexp.MustCompile(`(?m)^happens .*$`)

type server struct {
	t     *testing.T
	r     *redis.Client
	by    *redis.Client    // the client that runs the operations
	fake  *embedded.Server // nil: the server is a redis-server
	sub   *redis.PubSub
	names []string // names for values that differ between servers: name, value, name, value
	full  bool     // the server is out of memory
}

// subscribed are the channels that have a subscriber.
var subscribed = strings.Split("a b c d w A B C D end", " ")

func newServer(t *testing.T, r *redis.Client, fake *embedded.Server) *server {
	s := &server{t: t, r: r, by: r, fake: fake, sub: r.Subscribe(context.Background(), subscribed...)}
	t.Cleanup(func() { _ = s.sub.Close() })
	for range subscribed {
		_, err := s.sub.Receive(context.Background())
		harness.Must(t, err)
	}
	s.learnNames()
	return s
}

// batchSource keeps a lock for a called waiter for longer than 200 ms, because the machine may be slow.
var batchSource = strings.Replace(script.BatchSource, keptFor, "'PX', 10000)", 1)

const keptFor = "'PX', 200)"

// run runs a case, and returns what each line of the case replied, published and changed.
func (s *server) run(input string) string {
	s.t.Helper()
	s.begin()
	var out strings.Builder
	for line := range strings.Lines(input) {
		line = strings.TrimRight(line, "\n")
		if s.setUp(line) {
			continue
		}
		before := s.stored(input)
		fmt.Fprintln(&out, s.operate(line))
		after := s.stored(input)
		for _, notice := range s.notices() {
			fmt.Fprintln(&out, " ", notice)
		}
		for name := range before {
			if _, is := after[name]; !is {
				after[name] = "none"
			}
		}
		for _, name := range slices.Sorted(maps.Keys(after)) {
			if before[name] != after[name] {
				fmt.Fprintf(&out, "  %s: %s\n", name, after[name])
			}
		}
	}
	return out.String()
}

// begin makes the server the only member of a deployment, with counters at 7.
func (s *server) begin() {
	s.t.Helper()
	if s.full {
		harness.Must(s.t, s.r.ConfigSet(context.Background(), "maxmemory", "0").Err())
		s.full = false
	}
	_, err := s.r.Pipelined(context.Background(), func(p redis.Pipeliner) error {
		p.FlushAll(context.Background())
		p.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), memberFields(s.names[1]))
		for _, job := range []string{"job", "two", "three"} {
			p.Set(context.Background(), keysOf(job, "").Fence, 7, 0)
		}
		return nil
	})
	harness.Must(s.t, err)
}

// oneMember is the table of a deployment with one member.
const oneMember = `{"format":"3","buckets":4096,"maxTTL":60000,"drift":0.01,"members":[{"id":"one","state":"voting","address":"a"}],"prev":["one"]}`

// memberOfOne makes a server the only member of a deployment, with the id "one" and the version "1".
func memberOfOne(r *redis.Client) error {
	info, err := r.Info(context.Background()).Result()
	if err != nil {
		return err
	}
	return r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), memberFields(membership.ParseInfo(info)["run_id"])).Err()
}

func memberFields(run string) []string {
	return []string{"deployment", "d", "id", "one", "run", run, "durable", "no", "promised", "1", "version", "1", "table", oneMember,
		"maxTTL", "60000", "votes", "one@1", "evicted", "0"}
}

// changes matches the steps of a change of the members. After these, the field "learned" is shown. After a batch,
// the field is shown if the case has the word "register".
var changes = regexp.MustCompile(`\b(learn|learned|promise|accept)\b`)

// learnNames sets the names, for example RUN for the server's run id.
func (s *server) learnNames() {
	s.t.Helper()
	is := infoOf(s.t, s.r)
	s.names = []string{
		"RUN", is["run_id"], "REPLID", is["master_replid2"], "TABLE", oneMember,
		"DURABLE", strings.Replace(oneMember, `"address":"a"`, `"address":"a","durable":true`, 1),
		"NEW", strings.Replace(oneMember, "voting", "new", 1),
		"SUSPENDED", strings.Replace(oneMember, "voting", "suspended", 1),
		"REMOVED", strings.Replace(oneMember, `"one"`, `"two"`, 1), // "one" was in the previous table, so this table concerns it
		"OTHERS", strings.ReplaceAll(oneMember, `"one"`, `"two"`),
	}
}

func infoOf(t *testing.T, r *redis.Client) map[string]string {
	t.Helper()
	info, err := r.Info(context.Background()).Result()
	harness.Must(t, err)
	return membership.ParseInfo(info)
}

func keysOf(job, owner string) script.Keys { return script.KeysOf(limits.DefaultPrefix, job, owner) }

func (s *server) now() time.Time {
	s.t.Helper()
	now, err := s.r.Time(context.Background()).Result()
	harness.Must(s.t, err)
	return now
}

// firstTicket is the ticket of the first waiter in a line.
const firstTicket = 1_500_000_000_000_000

// setUp runs a line that prepares the server, and returns true. For any other line it returns false.
func (s *server) setUp(line string) bool {
	s.t.Helper()
	ctx, k, register := context.Background(), keysOf("job", "o"), script.RegisterKey(limits.DefaultPrefix)
	verb, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	must := func(errs ...error) { s.t.Helper(); harness.Must(s.t, errors.Join(errs...)) }
	switch verb {
	case "register":
		must(s.r.Del(ctx, register).Err())
		s.setFields(words)
	case "set":
		s.setFields(words)
	case "lock":
		value, err := strconv.QuotedPrefix(rest)
		must(err)
		ttl := time.Minute
		if after := strings.TrimSpace(rest[len(value):]); after == "forever" {
			ttl = 0
		} else if after != "" {
			ttl, err = time.ParseDuration(after)
			must(err)
		}
		value, err = strconv.Unquote(value)
		must(err, s.r.Del(ctx, k.Lock).Err(), s.r.Set(ctx, k.Lock, value, ttl).Err())
	case "readers":
		last := s.now()
		for _, word := range words {
			name, lasts, _ := strings.Cut(word, "=")
			d, err := time.ParseDuration(lasts)
			ends := s.now().Add(d)
			must(err, s.r.ZAdd(ctx, k.Lock, redis.Z{Score: float64(ends.UnixMilli()), Member: name}).Err())
			if ends.After(last) {
				last = ends
				must(s.r.PExpireAt(ctx, k.Lock, last).Err())
			}
		}
	case "crowd": // adds a number of readers that hold the lock for a time
		d, err := time.ParseDuration(words[1])
		ends := float64(s.now().Add(d).UnixMilli())
		must(err, s.r.ZAdd(ctx, k.Lock, many(words[0], "reader", func(int) float64 { return ends })...).Err())
	case "dead": // adds a number of waiters before all others: writers, readers or both; their last requests were some time ago
		ago, err := time.ParseDuration(words[2])
		asked := float64(s.now().Add(-ago).UnixMicro())
		ticket := map[string]func(int) float64{
			"write": func(i int) float64 { return 1e15 + float64(i) },
			"read":  func(i int) float64 { return 1e15 + float64(i) + 0.5 },
			"both":  func(i int) float64 { return 1e15 + float64(i) + float64(i%2)/2 },
		}[words[1]]
		must(err, s.r.ZAdd(ctx, k.Queue, many(words[0], "dead", ticket)...).Err(), s.r.ZAdd(ctx, k.Asked, many(words[0], "dead", func(int) float64 { return asked })...).Err())
	case "line":
		for i, channel := range words {
			ticket := firstTicket + float64(i)
			if channel < "a" {
				ticket += 0.5
			}
			must(s.r.ZAdd(ctx, k.Queue, redis.Z{Score: ticket, Member: channel}).Err())
		}
	case "gone":
		must(s.r.Set(ctx, keysOf("job", rest).Gone, "", time.Minute).Err())
	case "fence":
		must(s.r.Del(ctx, k.Fence).Err())
		if rest == "list" {
			must(s.r.RPush(ctx, k.Fence, "x").Err())
		} else if rest != "none" {
			must(s.r.Set(ctx, k.Fence, rest, 0).Err())
		}
	case "forget":
		for _, word := range words {
			must(s.r.Del(ctx, map[string]string{"lock": k.Lock, "line": k.Queue, "asked": k.Asked, "register": register}[word]).Err())
		}
	case "list":
		must(s.r.RPush(ctx, map[string]string{"lock": k.Lock}[rest], "x").Err())
	case "string":
		must(s.r.Set(ctx, map[string]string{"register": register}[rest], "x", 0).Err())
	case "memory":
		s.full = rest == "full"
		must(s.r.ConfigSet(ctx, "maxmemory", map[string]string{"full": "1", "enough": "0"}[rest]).Err())
	case "offers":
		for _, key := range s.r.Keys(ctx, "*offer*").Val() {
			must(s.r.Del(ctx, key).Err())
		}
	case "happens":
		must(causes[rest](s))
		s.learnNames()
	default:
		return false
	}
	return true
}

// many returns n members for a sorted set.
func many(n, name string, score func(int) float64) (all []redis.Z) {
	count, _ := strconv.Atoi(n)
	for i := range count {
		all = append(all, redis.Z{Score: score(i), Member: fmt.Sprint(name, i)})
	}
	return all
}

// setFields changes fields of the register: name=value sets a field, and -name deletes a field.
func (s *server) setFields(words []string) {
	s.t.Helper()
	names, now := strings.NewReplacer(s.names...), s.now()
	for _, word := range words {
		var err error
		name, value, _ := strings.Cut(word, "=")
		if gone, is := strings.CutPrefix(name, "-"); is {
			err = s.r.HDel(context.Background(), script.RegisterKey(limits.DefaultPrefix), gone).Err()
		} else {
			if ago, is := strings.CutPrefix(value, "NOW-"); is {
				d, err := time.ParseDuration(ago)
				harness.Must(s.t, err)
				value = strconv.FormatInt(now.Add(-d).UnixMilli(), 10)
			}
			err = s.r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), name, names.Replace(value)).Err()
		}
		harness.Must(s.t, err)
	}
}

// causes are changes that an operator, or another program, may make while clients are connected.
var causes = map[string]func(*server) error{
	"may evict": config("maxmemory-policy", "allkeys-lru", "maxmemory", "1073741824"),
	"no limit":  config("maxmemory-policy", "allkeys-lru"),
	"limit":     config("maxmemory", "1073741824"),
	"aof off":   config("appendonly", "no"),
	"aof on":    config("appendonly", "yes"),
	"evicted":   evicts,
	"follows":   follows,
	"promoted":  func(s *server) error { return errors.Join(follows(s), leads(s)) },
}

// config changes settings: name, value, name, value. If there is an AOF, config waits until it is complete.
func config(settings ...string) func(*server) error {
	return func(s *server) error {
		for i := 0; i < len(settings); i += 2 {
			if err := s.r.ConfigSet(context.Background(), settings[i], settings[i+1]).Err(); err != nil {
				return err
			}
		}
		harness.Eventually(s.t, "the AOF is complete", func() bool {
			is := infoOf(s.t, s.r)
			return is["aof_rewrite_in_progress"] == "0" && is["aof_rewrite_scheduled"] == "0"
		})
		return nil
	}
}

// evicts makes a server evict keys, and then forbids eviction. Keys without a ttl stay, for example the register.
func evicts(s *server) error {
	for i := range 100 {
		if err := s.r.Set(context.Background(), fmt.Sprint("evicted", i), "x", time.Hour).Err(); err != nil {
			return err
		}
	}
	if err := config("maxmemory-policy", "volatile-ttl", "maxmemory", "1")(s); err != nil {
		return err
	}
	if s.fake != nil {
		s.fake.Evict(1, rand.New(rand.NewPCG(1, 1)))
	}
	_ = s.r.Set(context.Background(), "another", "x", 0).Err() // there is no room for it
	return config("maxmemory", "0", "maxmemory-policy", "noeviction")(s)
}

// follows makes a server a replica that keeps its data.
func follows(s *server) error {
	if s.fake == nil {
		return s.r.Do(context.Background(), "replicaof", "127.0.0.1", "1").Err()
	}
	leader := embedded.New()
	s.t.Cleanup(leader.Close)
	leader.Restore(s.fake.Snapshot())
	s.fake.Follow(leader)
	return nil
}

// leads makes a replica a master again.
func leads(s *server) error {
	if s.fake == nil {
		return s.r.Do(context.Background(), "replicaof", "no", "one").Err()
	}
	s.fake.Follow(nil)
	return nil
}

// registerSources has the scripts that are no operations, and how many keys each script has.
var registerSources = map[string]struct {
	source string
	keys   int
}{
	"promise": {script.PromiseSource, 1}, "accept": {script.AcceptSource, 1}, "learn": {script.LearnSource, 1}, "adopt": {script.AdoptSource, 1},
	"weak": {script.WeakSource, 1}, "claim": {script.ClaimSource, 1}, "found": {script.FoundSource, 1}, "enroll": {script.EnrollSource, 1},
	"reached": {script.ReachedSource, 1}, "here": {script.HereSource, 1}, "report": {script.ReportSource, 1},
	"turn": {script.TurnSource, 1}, "counters": {script.CountersSource, 2}, "sync": {script.SyncSource, 2}, "inspect": {script.InspectSource, 3},
}

// operate runs a script of the register, or operations in one batch, and returns the replies.
func (s *server) operate(line string) string {
	s.t.Helper()
	words := strings.Fields(line)
	x, ok := registerSources[words[0]]
	if !ok {
		return s.batch(line)
	}
	k := keysOf("job", "")
	args := make([]any, len(words)-1)
	for i, word := range words[1:] {
		args[i] = strings.NewReplacer(slices.Concat(s.names, []string{"''", ""})...).Replace(word)
	}
	reply, err := s.by.Eval(context.Background(), x.source, []string{script.RegisterKey(limits.DefaultPrefix), k.Fence, k.Queue}[:x.keys], args...).Result()
	if err != nil {
		code, rest, _ := strings.Cut(err.Error(), " ")
		if code == "PROMISED" {
			code += " " + rest
		}
		return code
	}
	if known, is := reply.(int64); is && words[0] == "learn" && known >= 0 {
		return fmt.Sprint("known for ", time.Duration(known)*time.Millisecond/(10*time.Second)*10*time.Second)
	}
	if left, is := reply.(int64); is && words[0] == "turn" && left > 0 {
		return "another's for " + roughly(time.Duration(left)*time.Millisecond)
	}
	if words[0] == "report" {
		return s.reported(reply.([]any))
	}
	return s.named(fmt.Sprint(reply))
}

// reported returns the fields of a report that are not in the register.
func (s *server) reported(reply []any) string {
	s.t.Helper()
	register, err := s.r.HGetAll(context.Background(), script.RegisterKey(limits.DefaultPrefix)).Result()
	if err != nil {
		register = map[string]string{"deployment": "something else"}
	}
	var all []string
	for i := 0; i < len(reply); i += 2 {
		name, value := fmt.Sprint(reply[i]), fmt.Sprint(reply[i+1])
		if was, is := register[name]; is && was == value {
			delete(register, name)
		} else if value != "" {
			all = append(all, fmt.Sprintf("%s: %s", name, s.named(value)))
		}
	}
	for name := range register {
		all = append(all, "without "+name)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// named replaces the values in text that differ between servers by their names.
func (s *server) named(text string) string {
	for i := 0; i < len(s.names); i += 2 {
		if s.names[i+1] != "" && s.names[i+1] != strings.Repeat("0", 40) {
			text = strings.ReplaceAll(text, s.names[i+1], s.names[i])
		}
	}
	return text
}

// batch runs operations in one batch. The header is "one@1", unless the line begins with another header.
func (s *server) batch(line string) string {
	s.t.Helper()
	header := "one@1"
	if first, rest, _ := strings.Cut(line, " "); strings.Contains(first, "@") || first == "3" {
		header, line = first, rest
	}
	var calls []script.Call
	for one := range strings.SplitSeq(line, " | ") {
		calls = append(calls, s.call(strings.Fields(one)))
	}
	replies, err := direct.Run(context.Background(), s.by, "eval", batchSource, limits.DefaultPrefix, header, calls...)
	if err != nil {
		return codeOf(err.Error())
	}
	var all []string
	for i, reply := range replies {
		number, done := reply.(int64)
		if i >= len(calls) {
			all = append(all, "goes on")
		} else if !done {
			all = append(all, codeOf(reply.(string)))
		} else {
			all = append(all, s.vote(calls[i].Read(number)))
		}
	}
	return strings.Join(all, " | ")
}

// where matches the position before the error of a script in Redis 6.
var where = regexp.MustCompile(`^@user_script: ?\d+: -?`)

func codeOf(text string) string {
	code, _, _ := strings.Cut(where.ReplaceAllString(text, ""), " ")
	return code
}

func (s *server) vote(v script.Vote) string {
	s.t.Helper()
	switch {
	case v.Err == script.ErrNotMine:
		return "not mine"
	case v.Err != nil:
		return v.Err.Error()
	case v.Ticket > 0 && s.isNow(v.Ticket/1000):
		return "held at NOW"
	case v.Grant > 0:
		return fmt.Sprint(v.Answer, " ", v.Grant)
	case v.Place == script.Kept:
		return fmt.Sprintf("kept for %s", roughly(v.Remaining))
	case v.Place > 0:
		return fmt.Sprintf("%v for %s, place %d", v.Answer, roughly(v.Remaining), v.Place)
	case v.Remaining > 0:
		return fmt.Sprintf("%v for %s", v.Answer, roughly(v.Remaining))
	}
	return v.Answer.String()
}

// roughly rounds a remaining time up to 10 s, because some seconds may have passed.
func roughly(d time.Duration) string {
	if d <= 0 {
		return "0s"
	}
	return fmt.Sprintf("%ds", (d+10*time.Second-1)/(10*time.Second)*10)
}

// isNow reports whether ms is a time within the last 10 s.
func (s *server) isNow(ms int64) bool {
	s.t.Helper()
	ago := s.now().Sub(time.UnixMilli(ms))
	return ago >= 0 && ago < 10*time.Second
}

// call returns the call for these words: an operation, an owner, and arguments with names.
func (s *server) call(words []string) script.Call {
	s.t.Helper()
	arg := map[string]string{"ttl": "30s", "mark": "0s", "takes": "0s", "token": "9", "grant": "0", "seen": "0", "job": "job"}
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, "=")
		arg[name] = value
	}
	number := func(name string) int64 {
		n, err := strconv.ParseInt(arg[name], 10, 64)
		harness.Must(s.t, err)
		return n
	}
	lasts := func(name string) time.Duration {
		d, err := time.ParseDuration(arg[name])
		harness.Must(s.t, err)
		return d
	}
	verb, who := words[0], words[1]
	o := &lease.Owner{ID: who, Keys: keysOf(arg["job"], who), Token: fence.Token(number("token")), Last: fence.Token(number("token")), Seen: uint64(number("seen"))}
	if renamed, is := map[string]string{"share": "acquire", "know": "confirm", "restore": "repair"}[verb]; is {
		arg["reads"], verb = "", renamed
	}
	_, reads := arg["reads"]
	o.Reads.Store(reads)
	in, channel, terms := lease.Place{Takes: lasts("takes")}, arg["in"], quorum.TermsOf(lasts("ttl"), 0, 0)
	if channel != "" {
		in.Channel = &channel
	}
	if text := arg["ticket"]; text == "-" || text == "~" {
		in.Ticket = waitqueue.TicketOf(text)
	} else if text != "" {
		in.Ticket = waitqueue.TicketOf(strconv.FormatInt(firstTicket+number("ticket"), 10))
	}
	k := o.Keys
	switch verb {
	case "acquire":
		return o.AcquireCall(terms, in)
	case "reenter":
		return o.ReenterCall(terms)
	case "confirm":
		return o.ConfirmCall(number("grant"))
	case "extend":
		return o.ExtendCall(terms)
	case "stay":
		return o.StayCall(terms)
	case "repair":
		return o.RepairCall(terms)
	case "release":
		return o.ReleaseCall()
	case "pass":
		return o.PassCall(in.Channel)
	case "linger":
		return o.LingerCall(lasts("ttl"), lasts("mark"))
	case "undo":
		return o.UndoCall(lasts("mark"), in)
	case "verify":
		return script.Verify.Call(&k, who)
	case "leave":
		return script.Leave.Call(&k, &who)
	}
	s.t.Fatalf("no operation %q", verb)
	panic("unreachable")
}

// notices returns the messages that were published since the last call of notices.
func (s *server) notices() (all []string) {
	s.t.Helper()
	harness.Must(s.t, s.r.Publish(context.Background(), "end", "").Err())
	for {
		m, err := s.sub.ReceiveMessage(context.Background())
		harness.Must(s.t, err)
		if m.Channel == "end" {
			return all
		}
		text := strings.ReplaceAll(m.Payload, keysOf("job", "").Lock, "lock")
		if text == "" {
			text = "nothing"
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("to %s: %s", m.Channel, text)))
	}
}

// stored returns all data that the server stores, by name. The time of the last look is left out, unless the case
// mentions the register.
func (s *server) stored(input string) map[string]string {
	s.t.Helper()
	ctx, all := context.Background(), map[string]string{}
	keys, err := s.r.Keys(ctx, limits.DefaultPrefix+":*").Result()
	harness.Must(s.t, err)
	now := s.now()
	type value struct { // a key has one of these types
		text    *redis.StringCmd
		fields  *redis.MapStringStringCmd
		members *redis.ZSliceCmd
		ttl     *redis.DurationCmd
	}
	values := make([]value, len(keys))
	_, _ = s.r.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			values[i] = value{p.Get(ctx, key), p.HGetAll(ctx, key), p.ZRangeWithScores(ctx, key, 0, -1), p.PTTL(ctx, key)}
		}
		return nil
	})
	for i, key := range keys {
		text, fields, members, ttl := values[i].text, values[i].fields, values[i].members, values[i].ttl
		name := strings.TrimPrefix(key, limits.DefaultPrefix+":")
		if bucket, behind, is := strings.Cut(name, "}:"); is {
			name = strings.TrimSuffix(behind, ":job")
			if behind == "fence" && key != keysOf("job", "").Fence {
				name = "fence of " + bucket[1:]
			}
		}
		lasts := ""
		if ttl.Val() > 0 {
			lasts = " for " + roughly(ttl.Val())
		}
		switch {
		case fields.Err() == nil:
			for field, value := range fields.Val() {
				if field == "looked" || field == "learned" {
					if at, err := strconv.ParseInt(value, 10, 64); err == nil && s.isNow(at) {
						value = "NOW"
					}
				}
				if who, until, is := strings.Cut(value, "/"); is && field == "turn" {
					if at, err := strconv.ParseInt(until, 10, 64); err == nil {
						value = who + " for " + roughly(time.UnixMilli(at).Sub(now))
					}
				}
				if field != "looked" && field != "learned" || strings.Contains(input, "register") || field == "learned" && changes.MatchString(input) {
					all[field] = s.named(strings.ReplaceAll(value, "\n", " "))
				}
			}
		case members.Err() == nil:
			all[name] = membersOf(name, members.Val(), now) + lasts
		case text.Err() == nil && name == "fence":
			all["fence"] = text.Val()
		case text.Err() == nil:
			all[name] = fmt.Sprintf("%q%s", s.named(text.Val()), lasts)
		default:
			all[name] = "a list"
		}
	}
	return all
}

// membersOf prints the members of a sorted set, or only their number if many are similar. A lock is printed with each
// reader's time, and a queue with a mark for readers.
func membersOf(name string, members []redis.Z, now time.Time) string {
	var all []string
	crowd := map[string]int{}
	for _, z := range members {
		member := strings.TrimRight(fmt.Sprint(z.Member), "0123456789")
		is := member
		switch {
		case strings.HasPrefix(name, "lock"):
			is += "=" + roughly(time.UnixMilli(int64(z.Score)).Sub(now))
		case strings.HasPrefix(name, "queue") && z.Score != float64(int64(z.Score)):
			is += " (to read)"
		}
		if member == "reader" || member == "dead" {
			crowd[is]++
		} else {
			all = append(all, is)
		}
	}
	for is, n := range crowd {
		all = append(all, fmt.Sprintf("%d %s", n, is))
	}
	if !strings.HasPrefix(name, "queue") || len(crowd) > 0 {
		slices.Sort(all)
	}
	return strings.Join(all, ", ")
}
