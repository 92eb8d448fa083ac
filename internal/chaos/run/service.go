//go:build unix

package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/check"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// Unserved is the rule that a client locks something in the times that a scenario names.
const Unserved = "unserved"

// unserved returns a violation for each client that locked nothing in a time in which it must.
func unserved(events []history.Event, services []Service) (found []check.Violation) {
	var began time.Duration
	for _, e := range events {
		if e.Kind == history.PhaseBegins {
			began = e.At
			break
		}
	}
	for _, s := range services {
		from, to := began+s.From, began+s.To
		for _, client := range s.Clients.Names(clientNames()) {
			ended := results{}
			for _, e := range events {
				if e.Client == client && from <= e.At && e.At <= to {
					ended.count(e)
				}
			}
			if ended[""] == 0 {
				found = append(found, check.Violation{Rule: Unserved, At: to,
					Text: fmt.Sprintf("%s locked nothing from %v to %v; how its calls ended: %v", client, from.Round(time.Millisecond), to.Round(time.Millisecond), ended)})
			}
		}
	}
	return found
}

// results are how many calls for locks ended with each class of errors, "" if the lock was had.
type results map[string]int

func (r results) count(e history.Event) {
	switch e.Kind {
	case history.LockHeld:
		r[""]++
	case history.LockFailed:
		r[e.Err]++
	}
}

// String names the classes of errors, and how many calls ended with each.
func (r results) String() string {
	if len(r) == 0 {
		return "none did"
	}
	var all []string
	for _, class := range slices.Sorted(maps.Keys(r)) {
		all = append(all, fmt.Sprintf("%d %s", r[class], class))
	}
	return strings.Join(all, ", ")
}
