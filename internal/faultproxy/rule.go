package faultproxy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Matcher picks requests. The zero value picks every request. Make others with Match.
type Matcher struct {
	command string
	parts   []string
}

// Match picks the requests with this command, in any case, that contain each of the parts in at
// least one of their arguments. An empty command stands for all.
func Match(command string, parts ...string) Matcher {
	return Matcher{command: strings.ToLower(command), parts: slices.Clone(parts)}
}

func (m Matcher) matches(args []string) bool {
	if len(args) == 0 || m.command != "" && !strings.EqualFold(m.command, args[0]) {
		return false
	}
	for _, part := range m.parts {
		if !slices.ContainsFunc(args[1:], func(arg string) bool { return strings.Contains(arg, part) }) {
			return false
		}
	}
	return true
}

// String returns the command and the parts, each in quotes.
func (m Matcher) String() string {
	words := []string{strconv.Quote(m.command)}
	for _, part := range m.parts {
		words = append(words, strconv.Quote(part))
	}
	return strings.Join(words, " ")
}

// Rule says what happens to which requests.
type Rule struct {
	On  Matcher
	Nth int // which of the picked requests since Add is acted on, from 1; 0 for every one
	Do  Action
}

// String returns the rule as ParseRule reads it, such as
//
//	"evalsha" "my-lock" nth 2: hold request
func (r Rule) String() string {
	do := r.Do
	if do == "" {
		do = Pass
	}
	if r.Nth == 0 {
		return fmt.Sprintf("%s: %s", r.On, do)
	}
	return fmt.Sprintf("%s nth %d: %s", r.On, r.Nth, do)
}

// validate returns the decoded action.
func (r Rule) validate() (step, error) {
	if r.Nth < 0 {
		return step{}, fmt.Errorf("faultproxy: nth (%d) must not be negative", r.Nth)
	}
	return r.Do.decode()
}

// ParseRule reads what Rule's String has printed.
func ParseRule(text string) (Rule, error) {
	fail := func(why string) (Rule, error) { return Rule{}, fmt.Errorf("faultproxy: rule %q: %s", text, why) }

	var words []string
	rest := text
	for strings.HasPrefix(rest, `"`) {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return fail("a quote is not closed")
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return fail(err.Error())
		}
		words = append(words, word)
		rest = strings.TrimLeft(rest[len(quoted):], " ")
	}
	if len(words) == 0 {
		return fail("it must begin with a command in quotes")
	}

	head, do, found := strings.Cut(rest, ": ")
	if !found {
		return fail("there is no action")
	}
	r := Rule{On: Match(words[0], words[1:]...), Do: Action(do)}
	if head != "" {
		nth, ok := strings.CutPrefix(head, "nth ")
		n, err := strconv.Atoi(nth)
		if !ok || err != nil || n < 1 {
			return fail("a number from 1 must follow nth")
		}
		r.Nth = n
	}
	if _, err := r.validate(); err != nil {
		return fail(err.Error())
	}
	return r, nil
}
