//go:build unix

package run

import (
	"cmp"
	"fmt"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/play"
)

// The masters are the founders of the deployment, and spares.
const (
	masterCount = 5
	spareCount  = 2
)

// schedule returns the faults of a round: c.Faults, the scenario's, or else faults drawn from the seed. Their times
// count from the start of the round. Except in a scenario, faults that begin before p.InModel are within the fault
// model.
func (c Config) schedule(seed uint64, p play.Phases) (fault.Schedule, error) {
	if s, is := c.scenario(); is || c.Faults != "" {
		faults, err := fault.ParseSchedule(cmp.Or(c.Faults, s.Faults))
		if err == nil && !is && !faults.Before(p.InModel).InModel(masterCount, maxTTL) {
			err = fmt.Errorf("chaos: the faults before %v are to be within the fault model, and are not", p.InModel)
		}
		return faults, err
	}
	return fault.Round(seed, fault.Plan{
		Masters: masterCount, Spares: spareCount, Clients: clientNames(), Locks: nameCount, TTL: ttl, Quarantine: quarantine,
	}, p.InModel, p.OutOfModel), nil
}
