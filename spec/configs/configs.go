// Package configs reads the configurations that the tests of the models explore. Only these tests may import it.
package configs

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// long is true if the configurations marked "long" are explored too. Each of them takes some minutes. CI explores
// them at night.
var long = os.Getenv("REDLOCK_LONG") != ""

// Config is one model with its bounds and weakened rules.
type Config struct {
	Expect string // holds, fails, or covered: nothing fails, because another rule covers the weakened one
	Model  string
	Bounds string // "BOUND=level", separated by spaces
	Weak   string // "RULE=level", separated by spaces; "" for the full protocol
	Story  string // the file with the steps to a violation that is too deep for the search; "" for a search
	Claim  string
	Long   bool
}

func (c Config) String() string {
	return strings.Join(strings.Fields(c.Model+" "+c.Weak+" "+c.Bounds), " ")
}

// Read reads the configurations in a file, whose head describes the format.
func Read(t *testing.T, file string) (all []Config) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		settings, claim, is := strings.Cut(strings.TrimSpace(line), ": ")
		if !is || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(settings)
		c := Config{Expect: words[0], Claim: claim}
		for _, word := range words[1:] {
			story, isStory := strings.CutPrefix(word, "story=")
			switch {
			case word == "long":
				c.Long = true
			case c.Model == "":
				c.Model = word
			case isStory:
				c.Story = story
			case word[0] == '-':
				c.Weak = strings.TrimSpace(c.Weak + " " + word[1:])
			default:
				c.Bounds = strings.TrimSpace(c.Bounds + " " + word)
			}
		}
		if !slices.Contains([]string{"holds", "fails", "covered"}, c.Expect) {
			t.Fatalf("%s: %s: nobody knows what to expect", file, line)
		}
		all = append(all, c)
	}
	return all
}

// Each calls the function test for each configuration (of the slice all) whose field Expect equals expect.
// It skips configurations marked "long" unless REDLOCK_LONG is set.
func Each(t *testing.T, all []Config, expect string, test func(t *testing.T, c Config)) {
	t.Helper()
	for _, c := range all {
		switch {
		case c.Expect != expect:
			continue
		case c.Long && !long:
			t.Logf("not explored without REDLOCK_LONG=1: %s", c)
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}
