package check

import (
	"errors"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// shows is what the history tells of masters, or of clients, to which a fault of the kind did
// something. Of other kinds it does not tell.
var shows = map[fault.Kind]history.Kind{
	fault.Kill:           history.MasterDown,
	fault.RollingRestart: history.MasterDown,
	fault.Promote:        history.MasterDown,
	fault.Restore:        history.MasterDown,
	fault.Freeze:         history.MasterFrozen,
	fault.Clock:          history.MasterClock,
	fault.Strobe:         history.MasterClock,
	fault.Drift:          history.MasterClock,
	fault.StopClient:     history.ClientStopped,
	fault.KillClient:     history.ClientKilled,
}

// didNothing reports whether a fault that ended with an error is known to have done nothing before.
// What was ordered from a master may have been done although no answer came, and a change of the
// members half-way. Those of the network fail before they begin.
func (p *parser) didNothing(f trouble, err string) bool {
	kind, told := shows[f.Kind]
	switch {
	case told:
		return !slices.ContainsFunc(p.struck, func(e history.Event) bool {
			if e.Kind != kind || e.At < f.from || e.At > f.to {
				return false
			}
			if e.Client != "" {
				hurt, _ := f.Hurts(e.Client, 0, 0)
				return hurt != 0
			}
			some, err := fault.ParseMasters(e.Master)
			return err != nil || some&f.Masters != 0
		})
	case f.Clients != "":
		return true
	}
	return strings.Contains(err, errors.ErrUnsupported.Error())
}
