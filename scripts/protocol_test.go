package scripts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// The token protocol against an adversary that owns time: the real scripts and the real decisions
// (package quorum), but every message is delivered when, as often and in the order that the
// adversary likes, and any lock may vanish at any moment (which covers expiry, clock jumps, pauses
// of the holder, releases). Masters lose their data, and take their place again as new members,
// with no quarantine: tokens need none. The rules have the names of spec/; each weakened must be
// found out, or the test is vacuous.

// protocolRules are the rules that can be weakened.
type protocolRules struct {
	confirm  bool // votes that disagree are confirmed before they count
	know     bool // so is what a reader was told of
	standing int  // 2, a confirm counts only while the very grant stands; 1, while the owner holds; 0, always
	version  bool // a master executes what is asked at its own version only
	isNew    bool // a server that lost its data does not vote before it has counters
	raise    bool // its counters are raised to those that were read
	barrier  bool // which are read at the version that lists it
	late     bool // a vote that comes after the token is known makes it again
}

var fullProtocol = protocolRules{confirm: true, know: true, standing: 2, version: true, isNew: true, raise: true, barrier: true, late: true}

// quorumGame is one schedule.
type quorumGame struct {
	rules   protocolRules
	readers bool   // some attempts are to read
	source  string // of the batch script
	rnd     *rand.Rand
	masters []*redis.Client
	runs    []string // by master: its process
	name    string
	started int // attempts so far, for owners
	now     int // steps so far
	running []*gameAttempt
	last    fence.Token
	seen    map[fence.Token]bool
	trace   []string

	versions int
	version  string    // the last one that is committed
	table    gameTable // its table
	pending  *gameChange
	ids      []string     // by master: its member id; "" when it lost its data
	read     map[int]bool // masters whose counters were read for the new member
	highest  int64        // of what was read
	synced   bool         // it has its counters
}

// gameTable is a table of members, as the register has it.
type gameTable struct {
	Members []gameMember `json:"members"`
	Prev    []string     `json:"prev"`
	MaxTTL  int          `json:"maxTTL"`
}

type gameMember struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

// gameChange is a table that is being accepted.
type gameChange struct {
	version  string
	table    gameTable
	accepted map[int]bool
}

// gameAttempt is one acquisition under way.
type gameAttempt struct {
	hold    *lease.Owner
	version string
	began   int
	floor   fence.Token // the highest token of those that were complete when it began
	votes   []script.Vote
	need    int // votes that make a token
	ballot  []script.Vote
	token   fence.Token
}

func (g *quorumGame) note(format string, args ...any) {
	g.trace = append(g.trace, fmt.Sprintf("%3d ", g.now)+fmt.Sprintf(format, args...))
}

func (g *quorumGame) call(master int, version string, c script.Call) script.Vote {
	return g.callIn(g.source, master, version, c)
}

func (g *quorumGame) callIn(source string, master int, version string, c script.Call) script.Vote {
	v, err := harness.CallAt(source, g.masters[master], version, c)
	if redis.HasErrorPrefix(err, "VERSION") {
		v.Err = script.ErrVersion
	}
	v.Answered = true
	return v
}

func (g *quorumGame) register() string { return script.RegisterKey(limits.DefaultPrefix) }

func (g *quorumGame) fence() string { return script.KeysOf(limits.DefaultPrefix, g.name, "").Fence }

// run runs a script of the register on a master.
func (g *quorumGame) run(source string, master int, args ...any) error {
	return redis.NewScript(source).Run(context.Background(), g.masters[master], []string{g.register(), g.fence()}, args...).Err()
}

func (g *quorumGame) begin() *gameAttempt {
	g.started++
	h := &lease.Owner{ID: fmt.Sprint("owner-", g.started)}
	h.Keys = script.KeysOf(limits.DefaultPrefix, g.name, h.ID)
	h.Reads.Store(g.readers && g.rnd.IntN(3) == 0)
	return &gameAttempt{hold: h, version: g.version, began: g.now, floor: g.last, votes: make([]script.Vote, len(g.masters)), need: testvotes.MajorityOf(len(g.masters))}
}

// step lets the adversary do one thing; it reports whether the attempt is over.
func (g *quorumGame) step(a *gameAttempt) (over bool, violation error) {
	g.now++
	i := g.rnd.IntN(len(g.masters))
	need := testvotes.MajorityOf(len(g.masters))
	acquire := a.hold.AcquireCall(quorum.TermsOf(limits.DefaultTTL, 0, 0), lease.Place{})
	switch p := g.rnd.IntN(100); {
	case p < 25: // the lock vanishes there
		g.masters[i].Del(context.Background(), a.hold.Keys.Lock)
		g.note("master %d forgets its lock", i)
		return false, nil
	case p < 30 && a.votes[i].Answered: // an acquire is resent, or arrives again
		v := g.call(i, a.version, acquire)
		g.note("%s: acquire again on %d: %v %v", a.hold.ID, i, v.Answer, v.Grant)
		return false, nil
	case p < 31: // it gives up
		g.note("%s gives up", a.hold.ID)
		return true, nil
	case p < 34:
		g.lose(i)
		return false, nil
	case p < 60:
		g.changeMembers(i)
		return false, nil
	}
	if a.ballot == nil {
		if !a.votes[i].Answered {
			a.votes[i] = g.call(i, a.version, acquire)
			g.note("%s: acquire on %d: %v %v %v", a.hold.ID, i, a.votes[i].Answer, a.votes[i].Grant, a.votes[i].Err)
		}
		switch quorum.Decide(a.votes, a.need) {
		case quorum.Lost:
			return true, nil
		case quorum.Won:
			if g.rules.late || a.token == 0 {
				a.token = quorum.HighestGrant(a.votes)
			}
			a.hold.Token, a.hold.Last = a.token, a.token
			a.ballot = quorum.Standings(a.votes, a.token)
			g.note("%s: token %d", a.hold.ID, a.token)
			if reads := a.hold.Reads.Load(); !reads && !g.rules.confirm || reads && !g.rules.know {
				return true, g.complete(a)
			}
		case quorum.Undecided:
			return false, nil
		}
	} else if !a.ballot[i].Answered {
		a.ballot[i] = g.confirm(a, i)
		g.note("%s: confirm on %d: %v %v", a.hold.ID, i, a.ballot[i].Answer, a.ballot[i].Err)
	}
	switch quorum.Decide(a.ballot, need) {
	case quorum.Lost:
		g.waitForMore(a)
	case quorum.Won:
		return true, g.complete(a)
	}
	return false, nil
}

// waitForMore is for an attempt that does not get a quorum to stand at its token: more votes may
// make a token.
func (g *quorumGame) waitForMore(a *gameAttempt) {
	granted := 0
	for i := range a.votes {
		if a.ballot[i].Err == script.ErrNotMine {
			a.votes[i] = a.ballot[i]
		}
		if a.votes[i].Answer == script.Granted {
			granted++
		}
	}
	a.need = max(granted+1, testvotes.MajorityOf(len(g.masters)))
	a.ballot = nil
}

// confirm is the confirm script, or a weakened one.
func (g *quorumGame) confirm(a *gameAttempt, i int) script.Vote {
	source := g.source
	guard := "holder ~= owner or stands ~= grant"
	if !strings.Contains(source, guard) {
		panic("confirm.lua no longer has the guard that this test weakens")
	}
	switch g.rules.standing {
	case 1:
		source = strings.Replace(source, guard, "holder ~= owner", 1)
	case 0:
		source = strings.Replace(source, guard, "false", 1)
	}
	return g.callIn(source, i, a.version, a.hold.ConfirmCall(a.votes[i].Grant))
}

// lose makes master i lose its data, or come back with older data, if the others are a quorum of
// voting members yet.
func (g *quorumGame) lose(i int) {
	intact := 0
	for j, m := range g.table.Members {
		if j != i && m.State == "voting" && g.ids[j] == m.ID {
			intact++
		}
	}
	if intact < testvotes.MajorityOf(len(g.masters)) {
		return
	}
	m := g.masters[i]
	_ = m.FlushAll(context.Background()).Err()
	if g.rnd.IntN(3) > 0 || !g.rules.isNew {
		_ = m.Set(context.Background(), g.fence(), 10, 0).Err()
	}
	g.ids[i] = ""
	g.note("master %d loses its data", i)
}

// changeMembers takes one step of what brings a server that lost its data back.
func (g *quorumGame) changeMembers(i int) {
	lost := slices.Index(g.ids, "")
	isNew := func(m gameMember) bool { return m.State == "new" }
	added := slices.IndexFunc(g.table.Members, isNew)
	switch {
	case g.pending != nil:
		if added := slices.IndexFunc(g.pending.table.Members, isNew); added >= 0 && !g.rules.barrier && g.rnd.IntN(2) == 0 {
			g.readFor(added, i)
		} else {
			g.accept(i)
		}
	case lost >= 0:
		g.replace(lost)
	case added >= 0 && g.synced:
		g.propose(added, gameMember{g.ids[added], "voting"})
	case added >= 0:
		g.readFor(added, i)
	}
}

// replace gives the place of a member that lost its data to a new id.
func (g *quorumGame) replace(i int) {
	id := fmt.Sprint("m", i, "-", g.now)
	if err := g.run(script.EnrollSource, i, g.runs[i], "", "d", id, g.version); err != nil {
		panic(err)
	}
	g.ids[i] = id
	state := "new"
	if !g.rules.isNew {
		state = "voting"
	}
	g.read, g.highest, g.synced = map[int]bool{}, 10, false
	g.propose(i, gameMember{id, state})
}

// propose begins to change one member. Every member promises at once: what happens when several
// propose is for spec/register.
func (g *quorumGame) propose(i int, m gameMember) {
	g.versions++
	next := gameTable{MaxTTL: 60_000}
	for _, before := range g.table.Members {
		next.Prev = append(next.Prev, before.ID)
	}
	next.Members = slices.Clone(g.table.Members)
	next.Members[i] = m
	g.pending = &gameChange{fmt.Sprintf("%010d.x", g.versions), next, map[int]bool{}}
	g.note("version %s: %v", g.pending.version, next.Members)
}

// accept has a master accept what is proposed, and notices when that is committed.
func (g *quorumGame) accept(i int) {
	p := g.pending
	text, _ := json.Marshal(p.table)
	if g.run(script.AcceptSource, i, g.ids[i], p.version, string(text), "d") != nil {
		return
	}
	p.accepted[i] = true
	g.note("master %d accepts %s", i, p.version)
	now, before := 0, 0
	for j := range p.accepted {
		if g.ids[j] == p.table.Members[j].ID {
			now++
		}
		if g.ids[j] == g.table.Members[j].ID {
			before++
		}
	}
	if need := testvotes.MajorityOf(len(g.masters)); now >= need && before >= need {
		g.version, g.table, g.pending = p.version, p.table, nil
		g.note("version %s is committed", p.version)
	}
}

// readFor reads the counter of master i for the new member j, and raises j's when a quorum was
// read.
func (g *quorumGame) readFor(j, i int) {
	if i == j || g.ids[i] == "" {
		return
	}
	if g.rules.barrier {
		reply, err := redis.NewScript(script.CountersSource).Run(context.Background(), g.masters[i], []string{g.register(), g.fence()}, g.ids[i], g.version).Int64Slice()
		if err != nil {
			g.tell(i)
			return
		}
		g.highest = max(g.highest, reply[0])
	} else {
		n, _ := g.masters[i].Get(context.Background(), g.fence()).Int64()
		g.highest = max(g.highest, n)
	}
	g.read[i] = true
	g.note("the counter of %d is read, the highest is %d", i, g.highest)
	if len(g.read) < testvotes.MajorityOf(len(g.masters)) {
		return
	}
	floor := g.highest
	if !g.rules.raise {
		floor = 10
	}
	g.synced = g.run(script.SyncSource, j, g.ids[j], g.version, "", floor) == nil
}

// tell tells a master that lags behind what is committed.
func (g *quorumGame) tell(i int) {
	text, _ := json.Marshal(g.table)
	if g.run(script.LearnSource, i, g.ids[i], g.version, string(text), "d") == nil {
		g.note("master %d learns %s", i, g.version)
	}
}

// complete hands a token to a caller, and checks what is promised of it. A reader is only told of
// one; writers that begin later must not get it.
func (g *quorumGame) complete(a *gameAttempt) error {
	reads := a.hold.Reads.Load()
	g.note("%s: complete with %d (reads: %v), began when %d was", a.hold.ID, a.token, reads, a.floor)
	if reads {
		if a.token < a.floor {
			return fmt.Errorf("a reader is told of %d, but %d was complete before it began", a.token, a.floor)
		}
		g.last = max(g.last, a.token)
		return nil
	}
	if a.token <= a.floor {
		return fmt.Errorf("token %d, but %d was complete before it began", a.token, a.floor)
	}
	if g.seen[a.token] {
		return fmt.Errorf("token %d twice", a.token)
	}
	g.seen[a.token] = true
	g.last = max(g.last, a.token)
	return nil
}

// play runs schedules, from the first on, until one violates the promise, or all are done.
func play(t *testing.T, masters []*redis.Client, rules protocolRules, readers bool, seed uint64, first, schedules int) error {
	t.Helper()
	runs := make([]string, len(masters))
	for i, m := range masters {
		info, err := m.Info(context.Background()).Result()
		harness.Must(t, err)
		runs[i] = membership.ParseInfo(info)["run_id"]
	}
	source := script.BatchSource
	if !rules.version {
		const check = "register[1] == ARGV[1]"
		if !strings.Contains(source, check) {
			panic("header.lua no longer has the check that this test weakens")
		}
		source = strings.Replace(source, check, "register[1] and string.match(register[1], '^(.*)@') == string.match(ARGV[1], '^(.*)@')", 1)
	}
	for s := first; s < first+schedules; s++ {
		g := &quorumGame{
			rules: rules, readers: readers, source: source, masters: masters, runs: runs, name: "job",
			rnd:  rand.New(rand.NewPCG(seed, uint64(s))),
			seen: map[fence.Token]bool{},
		}
		g.start(t)
		for g.now < 160 {
			if len(g.running) < 3 && (len(g.running) == 0 || g.rnd.IntN(8) == 0) {
				g.running = append(g.running, g.begin())
			}
			i := g.rnd.IntN(len(g.running))
			over, violation := g.step(g.running[i])
			if violation != nil {
				return fmt.Errorf("seed %d, schedule %d: %w\n%s", seed, s, violation, strings.Join(g.trace, "\n"))
			}
			if over {
				g.running = append(g.running[:i], g.running[i+1:]...)
			}
		}
	}
	return nil
}

// start makes the masters the members of a deployment, all voting.
func (g *quorumGame) start(t *testing.T) {
	t.Helper()
	g.versions, g.version, g.table = 1, "0000000001.x", gameTable{MaxTTL: 60_000}
	for i := range g.masters {
		g.ids = append(g.ids, fmt.Sprint("m", i))
		g.table.Members = append(g.table.Members, gameMember{g.ids[i], "voting"})
	}
	g.table.Prev = g.ids
	g.ids = slices.Clone(g.ids)
	text, _ := json.Marshal(g.table)
	for i, m := range g.masters {
		harness.Must(t, m.FlushAll(context.Background()).Err())
		harness.Must(t, m.HSet(context.Background(), g.register(), "deployment", "d", "id", g.ids[i], "run", g.runs[i]).Err())
		harness.Must(t, g.run(script.LearnSource, i, g.ids[i], g.version, string(text), "d"))
		harness.Must(t, m.Set(context.Background(), g.fence(), 10+g.rnd.IntN(5), 0).Err()) // skewed
	}
}

func gameMasters(t *testing.T, n int, real bool) []*redis.Client {
	if real {
		return harness.Processes(t, n, redisproc.Config{}).Raw
	}
	var masters []*redis.Client
	for range n {
		s := embedded.New()
		t.Cleanup(s.Close)
		c := redis.NewClient(s.Options())
		t.Cleanup(func() { _ = c.Close() })
		masters = append(masters, c)
	}
	return masters
}

func TestTokensGrowWhateverTheAdversaryDoes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 5} {
		for _, real := range []bool{false, true} {
			t.Run(fmt.Sprintf("N=%d real=%v", n, real), func(t *testing.T) {
				t.Parallel()
				schedules := 200
				if real {
					schedules = 300
				}
				if testing.Short() {
					schedules /= 10
				}
				if err := play(t, gameMasters(t, n, real), fullProtocol, true, rand.Uint64(), 0, schedules); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func TestWeakenedRulesAreFoundOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		weaken func(*protocolRules)
		first  int // where to begin: a little before the first schedule that shows it, for speed
	}{
		{"CONFIRM=0", func(r *protocolRules) { r.confirm = false }, 0},
		{"KNOW=0", func(r *protocolRules) { r.know = false }, 0},
		{"STANDING=1", func(r *protocolRules) { r.standing = 1 }, 2300}, // rare: needs a resend between two rivals
		{"STANDING=0", func(r *protocolRules) { r.standing = 0 }, 0},
		{"VERSION=0", func(r *protocolRules) { r.version = false }, 1320},
		{"NEW=0", func(r *protocolRules) { r.isNew = false }, 50},
		{"RAISE=0", func(r *protocolRules) { r.raise = false }, 100},
		{"BARRIER=0", func(r *protocolRules) { r.barrier = false }, 10200},
		{"LATE=0", func(r *protocolRules) { r.late = false }, 100},
	} {
		rules := fullProtocol
		c.weaken(&rules)
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := play(t, gameMasters(t, 3, true), rules, !rules.know, 1, c.first, 20000)
			if err == nil {
				t.Fatal("no violation found: the test is vacuous")
			}
			t.Log(strings.SplitN(err.Error(), "\n", 2)[0])
		})
	}
}
