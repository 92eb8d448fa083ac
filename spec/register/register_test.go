package register

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/spec/configs"
)

const file = "testdata/configs.txt"

func TestDesignHolds(t *testing.T) {
	explore(t, "holds", func(t *testing.T, r result) {
		if !r.complete {
			t.Errorf("a violation, or not explored completely:\n%s", r)
		}
	})
}

func TestWeakenedRulesFail(t *testing.T) {
	explore(t, "fails", func(t *testing.T, r result) {
		if r.broken == "" {
			t.Errorf("no promise fails: the model is vacuous, or the story is none of it\n%s", r)
		}
		t.Logf("%s", r)
	})
}

func TestCoveredRules(t *testing.T) {
	explore(t, "covered", func(t *testing.T, r result) {
		if !r.complete {
			t.Errorf("it is not covered any more:\n%s", r)
		}
	})
}

// A recorded story needs a weakened rule: the full rule forbids one of its steps.
func TestRuleForbidsStory(t *testing.T) {
	for _, c := range configs.Read(t, file) {
		if c.Story == "" {
			continue
		}
		c.Weak = ""
		if r, err := explored(c); err != nil || r.broken != "" {
			t.Errorf("%s breaks a promise without the weakened rule (%v):\n%s", c.Story, err, r)
		}
	}
}

// If no configuration weakens a rule, nobody has checked that the rule is needed.
func TestEachRuleIsWeakened(t *testing.T) {
	weakened := map[string]bool{}
	for _, c := range configs.Read(t, file) {
		if c.Model == "register" { // register has the rules of the model tokens
			c.Model = "tokens"
		}
		weakened[c.Model+" "+c.Weak] = !c.Long || weakened[c.Model+" "+c.Weak]
	}
	for name, m := range map[string]any{"tokens": new(tokens), "exclusion": new(exclusion), "founding": new(founding)} {
		for _, weak := range weakenings(m) {
			if !weakened[name+" "+weak] {
				t.Errorf("%s %s is in no configuration that is always explored", name, weak)
			}
		}
	}
}

func explore(t *testing.T, expect string, check func(*testing.T, result)) {
	configs.Each(t, configs.Read(t, file), expect, func(t *testing.T, c configs.Config) {
		r, err := explored(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.2g states, %.2g transitions, depth %d, %.1f s", c.Claim, float64(r.states), float64(r.transitions), r.depth, r.seconds)
		check(t, r)
	})
}

// explored explores a configuration. The model register is the model tokens without attempts, and with all
// steps of a ballot.
func explored(c configs.Config) (result, error) {
	switch c.Model {
	case "register":
		c.Bounds += " SERIAL=0 ATTEMPTS=0"
		return exploreModel(c, new(tokens))
	case "tokens":
		return exploreModel(c, new(tokens))
	case "exclusion":
		return exploreModel(c, new(exclusion))
	}
	return exploreModel(c, new(founding))
}

func exploreModel[S comparable](c configs.Config, m model[S]) (result, error) {
	if err := configure(m, c.Weak+" "+c.Bounds); err != nil {
		return result{}, err
	}
	const limit = 15 * time.Minute
	if c.Story == "" {
		return breadthFirst(m, limit), nil
	}
	text, err := os.ReadFile(filepath.Join("testdata", c.Story+".txt"))
	return follow(m, limit, strings.Split(strings.TrimSpace(string(text)), "\n")), err
}
