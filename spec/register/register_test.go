package register

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var large = flag.Bool("spec.large", false, "also explore the large configurations: about half an hour, and 5 GB")

// long reports whether to explore what takes a minute or so as well, as CI does at night.
var long = os.Getenv("REDLOCK_LONG") != ""

// config is one model with its bounds, and rules that are weakened.
type config struct {
	model  string
	bounds string
	weak   string // "RULE=level", none: the full design
	claim  string
	long   bool // explored if REDLOCK_LONG is set
	large  bool // explored with -spec.large

	// story names a file with the steps to a violation that lies too deep to be searched for here:
	// only these steps are taken.
	story string
}

func (c config) String() string {
	return strings.Join(strings.Fields(c.model+" "+c.weak+" "+c.bounds), " ")
}

// The model register is the model tokens without attempts, and with all steps of a ballot.
const (
	registers = "register"
	tokenses  = "tokens"
	exclusive = "exclusion"
	foundings = "founding"
)

// holding are explored completely, and nothing may fail.
var holding = []config{
	{model: registers, bounds: "LOSSES=1 BALLOTS=4",
		claim: "a server loses its data, three proposers"},
	{model: registers, bounds: "LOSSES=1 FOUNDED=0",
		claim: "the same, and the first version is still on its way"},
	{model: registers, bounds: "LOSSES=1 SPARES=1 REPLACES=1",
		claim: "a loss, while an operator replaces a member"},
	{model: registers, bounds: "LOSSES=1 MARKS=1",
		claim: "a loss, and members learn what is committed"},
	{model: registers, bounds: "LOSSES=1 SUSPENDS=1",
		claim: "a loss, while an operator suspends and resumes a member"},
	{model: registers, bounds: "SPARES=1 ADDS=1 REMOVES=1",
		claim: "a member is added and removed"},
	{model: registers, bounds: "LOSSES=1 SPARES=1 MISLED=1",
		claim: "a loss, and a name that leads to any server, for any member"},
	{model: registers, bounds: "SPARES=2 MISLED=2",
		claim: "two servers are taken for one member, or one for two, and none is lost"},
	{model: registers, bounds: "WEAKENS=2 RESTARTS=2", long: true,
		claim: "two servers stop writing, and two restart with what they have written"},
	{model: registers, bounds: "LOSSES=1 WEAKENS=1 RESTARTS=1", long: true,
		claim: "one stops writing, one restarts, one loses its data"},
	{model: registers, bounds: "MEMBERS=4 WEAKENS=1 RESTARTS=1",
		claim: "one of four stops writing, one restarts"},
	{model: registers, bounds: "SPARES=1 REPLACES=1 WEAKENS=1 RESTARTS=1", large: true,
		claim: "one stops writing, one restarts, while an operator replaces a member"},
	{model: tokenses, bounds: "LOSSES=1 SPARES=1 MISLED=1", long: true,
		claim: "a loss, and a name that leads to any server, for any member"},
	{model: tokenses, bounds: "LOSSES=1 GHOSTS=1",
		claim: "a loss, and a grant that nobody counts"},
	{model: tokenses, bounds: "LOSSES=1 OLD=1 REENTER=1",
		claim: "a server comes back with old counters and locks, and holds are re-entered"},
	{model: tokenses, bounds: "SPARES=1 REPLACES=1 SUSPENDS=1",
		claim: "a member is replaced, another one suspended and resumed"},
	{model: tokenses, bounds: "SPARES=1 ADDS=1 BALLOTS=4",
		claim: "a member is added, and becomes voting"},
	{model: tokenses, bounds: "SUSPENDS=1 REMOVES=1 BALLOTS=4",
		claim: "a member is suspended and removed"},
	{model: tokenses, bounds: "WEAKENS=1 MENDS=1 RESTARTS=1", long: true,
		claim: "a server stops writing, and may write again; one restarts with what it has written"},
	{model: tokenses, bounds: "LOSSES=1 WEAKENS=1 RESTARTS=1", large: true,
		claim: "one stops writing, one restarts, one loses its data"},
	{model: exclusive, bounds: "LOSSES=1",
		claim: "a loss, while two rivals acquire and renew"},
	{model: exclusive, bounds: "LOSSES=1 TTL=1 JUMPS=1 REPAIRS=1",
		claim: "a loss, a clock that jumps, repairs"},
	{model: exclusive, bounds: "SPARES=1 REPLACES=1 TTL=1",
		claim: "a member is replaced, and renewals go on at the new versions"},
	{model: exclusive, bounds: "LOSSES=1 SPARES=1 MISLED=1 TTL=1", long: true,
		claim: "a loss, and a name that leads to any server, for any member"},
	{model: exclusive, bounds: "SUSPENDS=1 REMOVES=1 TTL=1",
		claim: "a member is suspended and removed"},
	{model: exclusive, bounds: "LOSSES=2 SEVERAL=1 VERSIONS=4 TTL=1",
		claim: "two of three lose their data, and one change makes both voting"},
	{model: foundings, bounds: "RUNS=3",
		claim: "three runs of init with one list, each may stop at any step"},
	{model: foundings, bounds: "RUNS=3 LISTS=2",
		claim: "three runs of init with two lists that overlap"},
	{model: foundings, bounds: "LOSSES=1",
		claim: "two runs of init, and a server that loses what it had"},

	{model: registers, bounds: "LOSSES=2 BALLOTS=4", large: true,
		claim: "two losses, three proposers"},
	{model: registers, bounds: "LOSSES=1 SPARES=1 REPLACES=1 BALLOTS=4", large: true,
		claim: "a loss, a member is replaced, three proposers"},
	{model: registers, bounds: "LOSSES=1 SPARES=1 ADDS=1 BALLOTS=4", large: true,
		claim: "a loss, a member is added, three proposers"},
	{model: registers, bounds: "LOSSES=1 FOUNDED=0 BALLOTS=4", large: true,
		claim: "a loss, and the first version is still on its way, three proposers"},
	{model: tokenses, bounds: "LOSSES=1 SERIAL=0 BALLOTS=4", large: true,
		claim: "a loss and two attempts, with all steps of three ballots"},
	{model: tokenses, bounds: "LOSSES=2 BALLOTS=5", large: true,
		claim: "two losses, and both are voting again"},
	{model: tokenses, bounds: "LOSSES=2 SPARES=1 REPLACES=1 BALLOTS=4", large: true,
		claim: "two losses, and a member is replaced"},
	{model: tokenses, bounds: "MEMBERS=5 NEWCOMERS=2 SEVERAL=1 BALLOTS=2", large: true,
		claim: "one change makes two new members voting"},
	{model: exclusive, bounds: "WEAKENS=1 MENDS=1 RESTARTS=1 TTL=1", long: true,
		claim: "a server stops writing, and may write again; one restarts with what it has written"},
	{model: exclusive, bounds: "MEMBERS=4 VERSIONS=2 RENEWS=0 WEAKENS=1 RESTARTS=1 TTL=1", long: true,
		claim: "one of four stops writing, one restarts"},
	{model: exclusive, bounds: "WEAKENS=2 RESTARTS=1 TTL=1", large: true,
		claim: "two stop writing, one restarts"},
	{model: exclusive, bounds: "WEAKENS=1 RESTARTS=2 TTL=1", large: true,
		claim: "one stops writing, two restart"},
	{model: exclusive, bounds: "MEMBERS=5 VERSIONS=2 RENEWS=0 WEAKENS=1 RESTARTS=1 TTL=1", large: true,
		claim: "one of five stops writing, one restarts"},
	{model: exclusive, bounds: "LOSSES=1 WEAKENS=1 RESTARTS=1 TTL=1", large: true,
		claim: "one stops writing, one restarts, one loses its data"},
	{model: exclusive, bounds: "SPARES=1 REPLACES=1", large: true,
		claim: "a member is replaced, with a finer clock"},
	{model: exclusive, bounds: "LOSSES=1 SPARES=1 REPLACES=1 VERSIONS=4 TTL=1 JUMPS=1", large: true,
		claim: "a loss, a member is replaced, a clock that jumps"},
	{model: exclusive, bounds: "LOSSES=1 TTL=3 JUMPS=1", large: true,
		claim: "a loss and a clock that jumps, with the finest clock"},
	{model: exclusive, bounds: "LOSSES=2 VERSIONS=5 TTL=1", large: true,
		claim: "two losses, and both are voting again"},
	{model: exclusive, bounds: "MEMBERS=5 NEWCOMERS=2 SEVERAL=1 VERSIONS=2 TTL=1", large: true,
		claim: "one change makes two new members voting"},
	{model: exclusive, bounds: "SPARES=2 ADDS=2 SEVERAL=1 VERSIONS=4 TTL=1", large: true,
		claim: "two members are added, and one change makes both voting"},
	{model: foundings, bounds: "RUNS=3 LOSSES=1", large: true,
		claim: "three runs of init, and a loss"},
	{model: foundings, bounds: "RUNS=3 LISTS=2 LOSSES=1", large: true,
		claim: "three runs of init with two lists, and a loss"},
}

// failing have a rule weakened, and a promise must fail.
var failing = []config{
	{model: registers, weak: "PROMISED=0", bounds: "LOSSES=1",
		claim: "a proposer that was overtaken is accepted after the one that overtook it"},
	{model: registers, weak: "PREV=0", bounds: "SPARES=2 REPLACES=2 BALLOTS=4", story: "prev",
		claim: "a table of which nobody else knows is completed, when another one was committed"},
	{model: registers, weak: "UNCHANGED=0", bounds: "MEMBERS=5 SPARES=2 REPLACES=2 SUSPENDS=1 BALLOTS=4", story: "unchanged",
		claim: "two replacements at once leave a majority of the first members that knows of neither"},
	{model: registers, weak: "COMMIT=0", bounds: "SPARES=2 REPLACES=2",
		claim: "one old member and a new one commit a table, the other old members another one"},
	{model: registers, weak: "PUSH=1", bounds: "SPARES=2 REPLACES=2",
		claim: "the same, with a table that is pushed too early"},
	{model: registers, weak: "PUSH=0", bounds: "SPARES=2 REPLACES=2",
		claim: "the same, with a table that only one accepted"},
	{model: registers, weak: "RESET=0", bounds: "LOSSES=1 MARKS=1",
		claim: "a mark for one version is taken for a mark of the next"},
	{model: registers, weak: "GUARD=0", bounds: "SUSPENDS=2",
		claim: "two of three members are suspended"},
	{model: registers, weak: "GUARD=0", bounds: "SPARES=2 MISLED=2",
		claim: "the places of two members that live are given away"},
	{model: registers, weak: "ASIDE=0", bounds: "WEAKENS=1 RESTARTS=1",
		claim: "a weakened member accepts, and forgets it: two tables follow the first"},
	{model: registers, weak: "ADOPT=2", bounds: "SPARES=1 REPLACES=1 WEAKENS=1 RESTARTS=1", story: "adoptprev",
		claim: "a spare knows a table that came to nothing, and is a quorum of it with the server"},
	{model: registers, weak: "ADOPT=1", bounds: "MEMBERS=5 BALLOTS=2 WEAKENS=1 RESTARTS=1",
		claim: "the one that is asked does not know the table by which the server is not durable"},
	{model: registers, weak: "ADOPT=0", bounds: "WEAKENS=1 RESTARTS=1",
		claim: "the server's own table is older than that"},
	{model: registers, weak: "JUDGE=0", bounds: "WEAKENS=2 RESTARTS=2", story: "judge",
		claim: "another server that forgot that it is not durable makes the quorum"},
	{model: registers, weak: "RUN=0", bounds: "WEAKENS=1 RESTARTS=2",
		claim: "a server restarts once more, and what was decided of the first time comes late"},
	{model: registers, weak: "FOREVER=0", bounds: "VOLATILE=1 WEAKENS=1 RESTARTS=1",
		claim: "a member stops writing when a table has just made it durable again"},

	{model: tokenses, weak: "VOID=0", bounds: "LOSSES=1",
		claim: "a server that forgot a grant votes on"},
	{model: tokenses, weak: "NEW=0", bounds: "LOSSES=1",
		claim: "it votes again as soon as the table has its new id"},
	{model: tokenses, weak: "VERSION=1", bounds: "LOSSES=1",
		claim: "an attempt gets its votes from members of two versions"},
	{model: tokenses, weak: "VERSION=0", bounds: "LOSSES=1",
		claim: "a server that is no member votes"},
	{model: tokenses, weak: "VOTING=0", bounds: "LOSSES=1",
		claim: "a new member votes"},
	{model: tokenses, weak: "ROUND=0", bounds: "LOSSES=1",
		claim: "votes of two versions make a quorum"},
	{model: tokenses, weak: "CONFIRM=0", bounds: "LOSSES=1 GHOSTS=1",
		claim: "a laggard confirms when its counter was already read for a new member"},
	{model: tokenses, weak: "QUORUM=0", bounds: "LOSSES=2",
		claim: "the one member that is left to vote is a quorum"},
	{model: tokenses, weak: "READQUORUM=0", bounds: "LOSSES=1",
		claim: "the member that was read was not in the quorum of the token"},
	{model: tokenses, weak: "READBARRIER=0", bounds: "LOSSES=1",
		claim: "an old member grants at the version before, when it was already read"},
	{model: tokenses, weak: "ONCE=0", bounds: "MISLED=2",
		claim: "a member takes the places of the two others, and is a quorum by itself"},
	{model: tokenses, weak: "FLOOR=0", bounds: "MEMBERS=5 SUSPENDS=2 REMOVES=2 BALLOTS=5", story: "floor",
		claim: "two of the three that stood at a token are removed, and the other two are a quorum"},
	{model: tokenses, weak: "BASE=0", bounds: "MEMBERS=5 SUSPENDS=3 REMOVES=2 BALLOTS=7", story: "base",
		claim: "the same, with counters that were read before a member was resumed"},
	{model: tokenses, weak: "SILENT=0", bounds: "WEAKENS=1 RESTARTS=1",
		claim: "a member that stopped writing votes, and restarts with what it had before"},
	{model: tokenses, weak: "AFTER=0", bounds: "WEAKENS=1 RESTARTS=1",
		claim: "a member reports before the server is not durable, and the server after it forgot that"},

	{model: exclusive, weak: "VOID=0", bounds: "LOSSES=1",
		claim: "a server that forgot a lock votes on"},
	{model: exclusive, weak: "NEW=0", bounds: "LOSSES=1",
		claim: "it votes again as soon as the table has its new id"},
	{model: exclusive, weak: "ACQUIRE=1", bounds: "SPARES=1 REPLACES=1 TTL=1",
		claim: "an attempt gets its votes from members of two versions"},
	{model: exclusive, weak: "ACQUIRE=0", bounds: "SPARES=1 REPLACES=1 TTL=1",
		claim: "the same"},
	{model: exclusive, weak: "EXTEND=1", bounds: "SPARES=1 REPLACES=1", story: "extend",
		claim: "a hold is renewed at the version before, by one member that left it and one that never knew"},
	{model: exclusive, weak: "EXTEND=0", bounds: "SPARES=1 REPLACES=1", story: "extend",
		claim: "the same"},
	{model: exclusive, weak: "APART=0", bounds: "SPARES=1 REPLACES=1",
		claim: "one vote of each of two versions make a quorum"},
	{model: exclusive, weak: "QUORUM=0", bounds: "LOSSES=2",
		claim: "the one member that is left to vote is a quorum"},
	{model: exclusive, weak: "ONCE=0", bounds: "MISLED=2",
		claim: "a member takes the places of the two others, and is a quorum by itself"},
	{model: exclusive, weak: "QUARANTINE=1", bounds: "SPARES=1 REPLACES=1 TTL=1",
		claim: "the quarantine begins before the version is committed, and votes at the version before go on"},
	{model: exclusive, weak: "QUARANTINE=0", bounds: "LOSSES=1",
		claim: "nobody waits for the leases that rest on the lost votes"},
	{model: exclusive, weak: "REMOVEQUARANTINE=0", bounds: "MEMBERS=5 SUSPENDS=2 REMOVES=2 VERSIONS=5",
		story: "removequarantine",
		claim: "two of the three that granted are removed, and the other two are a quorum"},
	{model: exclusive, weak: "MARKS=0", bounds: "LOSSES=1 JUMPS=1",
		claim: "one wrong clock ends a quarantine"},
	{model: exclusive, weak: "RESET=0", bounds: "LOSSES=1",
		claim: "a mark for one version is taken for a mark of the next"},
	{model: exclusive, weak: "SILENT=0", bounds: "WEAKENS=1 RESTARTS=1 TTL=1",
		claim: "a member that stopped writing votes, and restarts with what it had before"},
	{model: exclusive, weak: "ASIDE=0", bounds: "WEAKENS=1 RESTARTS=1 TTL=1",
		claim: "it makes the table committed by which it is not durable, and restarts without it"},
	{model: exclusive, weak: "ADOPT=1", bounds: "MEMBERS=5 WEAKENS=1 RESTARTS=1", story: "adoptone",
		claim: "the one that is asked does not know the table by which the server is not durable"},
	{model: exclusive, weak: "ADOPT=0", bounds: "WEAKENS=1 RESTARTS=1 TTL=1",
		claim: "the server's own table is older than that"},
	{model: exclusive, weak: "JUDGE=0", bounds: "WEAKENS=2 RESTARTS=2", story: "judgeexclusion",
		claim: "another server that forgot that it is not durable makes the quorum"},
	{model: exclusive, weak: "AFTER=0", bounds: "WEAKENS=1 RESTARTS=1 TTL=1",
		claim: "a member reports before the server is not durable, and the server after it forgot that"},
	{model: exclusive, weak: "RUN=0", bounds: "VERSIONS=2 RENEWS=0 WEAKENS=1 RESTARTS=2 TTL=1",
		claim: "a server restarts once more, and what was decided of the first time comes late"},
	{model: exclusive, weak: "FOREVER=0", bounds: "VOLATILE=1 WEAKENS=1 RESTARTS=1 TTL=1",
		claim: "a member votes at the version before, while a table makes it durable again"},

	{model: foundings, weak: "ALL=0", claim: "two runs have a majority of claims, one after the other"},
	{model: foundings, weak: "TWICE=0", bounds: "LOSSES=1",
		claim: "a run sees its claims one after the other, and never were they all there"},
	{model: foundings, weak: "CLAIMED=0", claim: "a run that was overtaken brings its table all the same"},
	{model: foundings, weak: "LOWER=0", claim: "a late claim takes back a server that is claimed by another run"},
	{model: foundings, weak: "TAKEN=0", claim: "a server with a table is claimed once more"},
	{model: foundings, weak: "SAMELIST=0", bounds: "LISTS=2",
		claim: "two runs have all their servers, one after the other: each has one that the other never asks"},
	{model: foundings, weak: "MEMBER=0", bounds: "LOSSES=1",
		claim: "a server that lost what it had takes a late claim, and a late table"},
	{model: foundings, weak: "OWN=0", bounds: "LOSSES=1",
		claim: "two runs bring different tables for the same deployment and version"},
	{model: foundings, weak: "FINISH=0", claim: "a server has a table, and another one a claim that can never be complete"},
	{model: foundings, weak: "KEPT=0", claim: "a server promises a ballot before it has the first table, and a late claim takes that back"},
}

// covered are weakened, and nothing fails, because another rule sees to it.
var covered = []config{
	{model: registers, weak: "RAISE=0", bounds: "LOSSES=2",
		claim: "who is pushed was not needed for the commit: the majorities that were promised too, and never go back"},
	{model: registers, weak: "WIPE=0", bounds: "LOSSES=1 BALLOTS=4",
		claim: "VOID covers it: what a new id accepted counts for no table that does not have it"},
	{model: tokenses, weak: "USE=0", bounds: "LOSSES=1",
		claim: "COMMIT and the barrier cover it: a quorum that is at a version makes it as good as committed"},
	{model: tokenses, weak: "READBARRIER=1", bounds: "LOSSES=1",
		claim: "a quorum that is at a version and may be read makes it committed"},
	{model: tokenses, weak: "READONE=0", bounds: "LOSSES=1 BALLOTS=4",
		claim: "READBARRIER covers it: each counter was read when the versions before were over"},
	{model: tokenses, weak: "REMOVABLE=0", bounds: "REMOVES=2",
		claim: "FLOOR and BASE cover it; for exclusion the quarantine does"},
	{model: exclusive, weak: "REMOVABLE=0", bounds: "REMOVES=2",
		claim: "REMOVEQUARANTINE covers it"},
	{model: exclusive, weak: "GUARD=0", bounds: "SUSPENDS=2 TTL=1",
		claim: "it is for availability"},
	{model: exclusive, weak: "USE=0", bounds: "LOSSES=1 TTL=1",
		claim: "a quorum that is at a version makes it as good as committed"},
	{model: exclusive, weak: "ADOPT=2", bounds: "WEAKENS=1 RESTARTS=1 TTL=1",
		claim: "SERIAL covers it: no table comes to nothing here"},
}

func TestTheDesignKeepsItsPromises(t *testing.T) {
	explore(t, holding, func(t *testing.T, r result) {
		if !r.complete {
			t.Errorf("a violation, or not explored completely:\n%s", r)
		}
	})
}

func TestEachWeakenedRuleBreaksAPromise(t *testing.T) {
	explore(t, failing, func(t *testing.T, r result) {
		if r.broken == "" {
			t.Errorf("no promise fails: the model is vacuous, or the story is none of it\n%s", r)
		}
		t.Logf("%s", r)
	})
}

func TestRulesThatAnotherCovers(t *testing.T) {
	explore(t, covered, func(t *testing.T, r result) {
		if !r.complete {
			t.Errorf("it is not covered any more:\n%s", r)
		}
	})
}

// The stories that are told and not searched for end before the violation when no rule is weakened:
// it is the rule that forbids them.
func TestTheRuleForbidsItsStory(t *testing.T) {
	for _, c := range failing {
		if c.story == "" {
			continue
		}
		c.weak = ""
		r, err := c.run()
		if err != nil {
			t.Fatal(err)
		}
		if r.broken != "" {
			t.Errorf("%s breaks a promise without the weakened rule:\n%s", c.story, r)
		}
	}
}

// A switch that no configuration turns is a rule that nobody has checked.
func TestEachRuleIsWeakened(t *testing.T) {
	weakened := map[string][]string{}
	for _, c := range slices.Concat(failing, covered) {
		if c.model == registers { // it has the rules of the model tokens
			c.model = tokenses
		}
		weakened[c.model] = append(weakened[c.model], c.weak)
	}
	for name, m := range map[string]any{tokenses: new(tokens), exclusive: new(exclusion), foundings: new(founding)} {
		for _, weak := range weakenings(m) {
			if !slices.Contains(weakened[name], weak) {
				t.Errorf("%s %s is in no configuration", name, weak)
			}
		}
	}
}

func explore(t *testing.T, configs []config, check func(*testing.T, result)) {
	for _, c := range configs {
		switch {
		case c.large && !*large:
			t.Logf("not explored without -spec.large: %s", c)
			continue
		case c.long && !long:
			t.Logf("not explored without REDLOCK_LONG=1: %s", c)
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			if !c.large { // these have the memory for themselves
				t.Parallel()
			}
			r, err := c.run()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %.2g states, %.2g transitions, depth %d, %.1f s",
				c.claim, float64(r.states), float64(r.transitions), r.depth, r.seconds)
			check(t, r)
		})
	}
}

func (c config) run() (result, error) {
	switch c.model {
	case registers:
		c.bounds += " SERIAL=0 ATTEMPTS=0"
		return exploreModel(c, new(tokens))
	case tokenses:
		return exploreModel(c, new(tokens))
	case exclusive:
		return exploreModel(c, new(exclusion))
	default:
		return exploreModel(c, new(founding))
	}
}

func exploreModel[S comparable](c config, m model[S]) (result, error) {
	if err := configure(m, c.weak+" "+c.bounds); err != nil {
		return result{}, err
	}
	const limit = 15 * time.Minute
	switch {
	case c.story != "":
		text, err := os.ReadFile(filepath.Join("testdata", c.story+".txt"))
		return follow(m, limit, strings.Split(strings.TrimSpace(string(text)), "\n")), err
	case c.large:
		return depthFirst(m, limit), nil
	}
	return breadthFirst(m, limit), nil
}
