package latency

import (
	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// lists are those of the masters that clients name. A member that a client does not name is to it
// as one that a fault keeps away.
type lists struct {
	members fault.Masters            // those that were last seen, and those that may have become some since
	named   map[string]fault.Masters // by client; one that is not in it names all
}

func (l *lists) take(e history.Event) {
	switch e.Kind {
	case history.Members:
		l.members, _ = fault.ParseMasters(e.Masters) // of another program: 0
	case history.FaultBegins:
		if f, err := fault.Parse(e.Fault); err == nil && f.Unsettles() != 0 && f.Kind != fault.Init {
			l.members |= f.Masters | f.Spare
		}
	case history.ClientStarts:
		if some, err := fault.ParseMasters(e.Masters); err == nil && some != 0 { // else it names those that it named before
			l.named[e.Client] = some
		}
	}
}

// lacks are the members that the client does not name.
func (l *lists) lacks(client string) fault.Masters {
	named, is := l.named[client]
	if !is {
		return 0
	}
	return l.members &^ named
}
