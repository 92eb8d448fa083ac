package faultproxy

import (
	"slices"
	"strings"
)

// Matcher picks requests. The zero value picks every request. Make others with Match.
type Matcher struct {
	command string
	parts   []string
}

// Match picks the requests that have this command, in upper or lower case, and contain each of the parts in some
// argument. An empty command picks all commands.
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

// Rule is an action on picked requests.
type Rule struct {
	On  Matcher
	Nth int // the rule acts on the Nth request picked since Add: 1 is the first, 0 means all
	Do  Action
}
