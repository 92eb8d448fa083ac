//go:build unix

package run

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/check"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// Unserved is the rule that each client must lock something in certain times of a scenario (Scenario.Serves).
const Unserved = "unserved"

// unserved returns a violation for each client and each service in which the client locked nothing.
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
			locked := slices.ContainsFunc(events, func(e history.Event) bool {
				return e.Client == client && e.Kind == history.LockHeld && from <= e.At && e.At <= to
			})
			if !locked {
				found = append(found, check.Violation{Rule: Unserved, At: to,
					Text: fmt.Sprintf("%s locked nothing from %v to %v", client, from.Round(time.Millisecond), to.Round(time.Millisecond))})
			}
		}
	}
	return found
}
