package redlock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// The token protocol against an adversary that owns time: the real scripts and
// the real decisions (highestGrant, standings, decide), but every message is
// delivered when, as often and in the order that the adversary likes, and any
// lock may vanish at any moment (which covers expiry, clock jumps, pauses of the
// holder, releases). The rules have the names of spec/tokens.pml; each weakened
// must be found out, or the test is vacuous.

// protocolRules are the rules that can be weakened.
type protocolRules struct {
	confirm    bool // CONFIRM: votes that disagree are confirmed before they count
	standing   int  // STANDING: 2, only while the very grant stands; 1, while the owner holds; 0, always
	admit      bool // ADMIT: a master that lost data does not vote until it is readmitted
	quarantine bool // QUARANTINE: readmission waits for the attempts that were under way at the loss
	raise      bool // RAISE: readmission raises the counters to those of a quorum of others
}

var fullProtocol = protocolRules{confirm: true, standing: 2, admit: true, quarantine: true, raise: true}

// quorumGame is one schedule.
type quorumGame struct {
	rules   protocolRules
	rnd     *rand.Rand
	masters []*redis.Client
	name    string
	started int // attempts so far, for owners
	now     int // steps so far: real time
	running []*gameAttempt
	out     []*gameLoss // by master; nil: it may vote
	last    fence.Token
	seen    map[fence.Token]bool
	trace   []string
}

// gameLoss is a master that lost data, and how far its readmission is.
type gameLoss struct {
	underWay map[*gameAttempt]bool // at the loss
	surveys  []*membership.Survey
}

// gameAttempt is one acquisition under way.
type gameAttempt struct {
	hold   *hold
	began  int
	floor  fence.Token // the highest token of those that were complete when it began
	votes  []script.Vote
	ballot []script.Vote
	token  fence.Token
}

func (g *quorumGame) note(format string, args ...any) {
	g.trace = append(g.trace, fmt.Sprintf("%3d ", g.now)+fmt.Sprintf(format, args...))
}

func (g *quorumGame) call(master int, c script.Call) script.Vote {
	return g.callIn(script.BatchSource, master, c)
}

func (g *quorumGame) callIn(source string, master int, c script.Call) script.Vote {
	v, _ := callIn(source, g.masters[master], c)
	v.Heard = true
	return v
}

func (g *quorumGame) begin() *gameAttempt {
	g.started++
	h := &hold{owner: fmt.Sprint("owner-", g.started)}
	h.keys = script.KeysOf(DefaultPrefix, g.name, h.owner)
	n := len(g.masters)
	return &gameAttempt{hold: h, began: g.now, floor: g.last, votes: make([]script.Vote, n)}
}

// step lets the adversary do one thing to one attempt; it reports whether the
// attempt is over.
func (g *quorumGame) step(a *gameAttempt) (over bool, violation error) {
	g.now++
	i := g.rnd.IntN(len(g.masters))
	need := quorumOf(len(g.masters))
	acquire := a.hold.acquireCall(termsOf(DefaultTTL, 0, 0), nowhere)
	switch p := g.rnd.IntN(100); {
	case p < 25: // the lock vanishes there
		g.masters[i].Del(context.Background(), a.hold.keys.Lock)
		g.note("master %d forgets its lock", i)
		return false, nil
	case p < 30 && a.votes[i].Heard && (g.out[i] == nil || !g.rules.admit): // an acquire is resent, or arrives again
		v := g.call(i, acquire)
		g.note("%s: acquire again on %d: %v", a.hold.owner, i, v)
		return false, nil
	case p < 35: // it gives up
		g.note("%s gives up", a.hold.owner)
		return true, nil
	case p < 38:
		g.lose(i)
		return false, nil
	case p < 50:
		for i := range g.out {
			if g.out[i] != nil {
				g.readmit(i)
			}
		}
		return false, nil
	}
	if a.ballot == nil {
		if g.out[i] != nil && g.rules.admit {
			return false, nil
		}
		if !a.votes[i].Heard {
			a.votes[i] = g.call(i, acquire)
			g.note("%s: acquire on %d: %v", a.hold.owner, i, a.votes[i])
		}
		switch decide(a.votes, need) {
		case lost:
			return true, nil
		case won:
			a.token = highestGrant(a.votes)
			a.hold.token = a.token
			a.ballot = standings(a.votes, a.token)
			g.note("%s: token %d", a.hold.owner, a.token)
			if !g.rules.confirm {
				return true, g.complete(a)
			}
		case undecided:
			return false, nil
		}
	} else if !a.ballot[i].Heard && (g.out[i] == nil || !g.rules.admit) {
		a.ballot[i] = g.confirm(a, i)
		g.note("%s: confirm on %d: %v", a.hold.owner, i, a.ballot[i])
	}
	switch decide(a.ballot, need) {
	case lost:
		return true, nil
	case won:
		return true, g.complete(a)
	}
	return false, nil
}

// confirm is the confirm script, or a weakened one.
func (g *quorumGame) confirm(a *gameAttempt, i int) script.Vote {
	source := script.BatchSource
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
	return g.callIn(source, i, a.hold.confirmCall(a.votes[i].Grant))
}

func (g *quorumGame) admissionKeys() []string {
	return []string{DefaultPrefix + ":admitted", script.KeysOf(DefaultPrefix, g.name, "").Fence}
}

// lose makes master i restart with an older state, or with none, if the others
// are a quorum yet.
func (g *quorumGame) lose(i int) {
	lost := 0
	for _, o := range g.out {
		if o != nil {
			lost++
		}
	}
	if lost >= len(g.masters)-quorumOf(len(g.masters)) && g.out[i] == nil {
		return
	}
	ctx, keys := context.Background(), g.admissionKeys()
	m := g.masters[i]
	_ = m.FlushAll(ctx).Err()
	if g.rnd.IntN(3) > 0 || !g.rules.admit {
		_ = m.Set(ctx, keys[0], membership.AdmittedValue("dead", membership.NotDurable), 0).Err()
		_ = m.Set(ctx, keys[1], 10, 0).Err()
	}
	g.out[i] = &gameLoss{underWay: map[*gameAttempt]bool{}, surveys: make([]*membership.Survey, len(g.masters))}
	for _, a := range g.running {
		g.out[i].underWay[a] = true
	}
	g.note("master %d loses its data", i)
	g.survey(i, i) // somebody notices
}

func (g *quorumGame) survey(of, by int) {
	reply, err := redis.NewScript(script.SurveySource).Run(context.Background(), g.masters[of], g.admissionKeys(), "no", "note").StringSlice()
	if err != nil {
		panic(err)
	}
	s, err := membership.ParseSurvey(reply, 1)
	if err != nil {
		panic(err)
	}
	g.out[by].surveys[of] = s
}

// readmit takes one step of the readmission of master i: it surveys one master
// after the other, and then does what membership.MakePlan says.
func (g *quorumGame) readmit(i int) {
	o := g.out[i]
	for _, a := range g.running {
		if o.underWay[a] && g.rules.quarantine {
			return
		}
	}
	for of, s := range o.surveys {
		if s == nil && of != i {
			g.survey(of, i)
			return
		}
	}
	plan := membership.MakePlan(o.surveys, nil, quorumOf(len(g.masters)), 0, 1)
	if plan.Floors[i] == nil {
		clear(o.surveys) // what was learned is of no use: begin again
		g.survey(i, i)
		return
	}
	floor := plan.Floors[i][0]
	if !g.rules.raise {
		floor = 10
	}
	s := o.surveys[i]
	err := redis.NewScript(script.AdmitSource).Run(context.Background(), g.masters[i], g.admissionKeys(), s.Run, s.Since, membership.AdmittedValue(s.Run, membership.NotDurable), floor).Err()
	g.note("master %d is readmitted at %d: %v", i, floor, err)
	if err == nil {
		g.out[i] = nil
		return
	}
	clear(o.surveys)
	g.survey(i, i)
}

// complete hands a token to a caller, and checks what is promised of it.
func (g *quorumGame) complete(a *gameAttempt) error {
	g.note("%s: complete with %d, began when %d was", a.hold.owner, a.token, a.floor)
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

// play runs schedules until one violates the promise, or all are done.
func play(t *testing.T, masters []*redis.Client, rules protocolRules, seed uint64, schedules int) error {
	t.Helper()
	ctx := context.Background()
	runs := make([]string, len(masters))
	for i, m := range masters {
		info, err := m.Info(ctx).Result()
		must(t, err)
		runs[i] = membership.ParseInfo(info)["run_id"]
	}
	for s := range schedules {
		g := &quorumGame{
			rules: rules, masters: masters, name: "job",
			rnd:  rand.New(rand.NewPCG(seed, uint64(s))),
			out:  make([]*gameLoss, len(masters)),
			seen: map[fence.Token]bool{},
		}
		keys := g.admissionKeys()
		for i, m := range masters {
			must(t, m.FlushAll(ctx).Err())
			must(t, m.Set(ctx, keys[0], membership.AdmittedValue(runs[i], membership.NotDurable), 0).Err())
			must(t, m.Set(ctx, keys[1], 10+g.rnd.IntN(5), 0).Err()) // skewed
		}
		for g.now < 120 {
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

func gameMasters(t *testing.T, n int, real bool) []*redis.Client {
	if real {
		return processes(t, n, redisproc.Config{}).raw
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
					schedules = 1000
				}
				if err := play(t, gameMasters(t, n, real), fullProtocol, rand.Uint64(), schedules); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func TestWeakenedRulesAreFoundOut(t *testing.T) {
	t.Parallel()
	for name, weaken := range map[string]func(*protocolRules){
		"CONFIRM=0":    func(r *protocolRules) { r.confirm = false },
		"STANDING=1":   func(r *protocolRules) { r.standing = 1 }, // the rarest: needs a resend between two rivals
		"STANDING=0":   func(r *protocolRules) { r.standing = 0 },
		"ADMIT=0":      func(r *protocolRules) { r.admit = false },
		"QUARANTINE=0": func(r *protocolRules) { r.quarantine = false },
		"RAISE=0":      func(r *protocolRules) { r.raise = false },
	} {
		rules := fullProtocol
		weaken(&rules)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := play(t, gameMasters(t, 3, true), rules, 1, 20000)
			if err == nil {
				t.Fatal("no violation found: the test is vacuous")
			}
			t.Log(strings.SplitN(err.Error(), "\n", 2)[0])
		})
	}
}
