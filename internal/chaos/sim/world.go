package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/faultproxy"
)

// world has the masters, and the fronts of each client.
type world struct {
	masters []*master
	clients []string
	fronts  map[string][]*front // by client, or by the name operators
}

// operators reach the masters through fronts that no fault hits.
const operators = "operators"

var _ fault.World = (*world)(nil)

// front is the fault proxy through which a client reaches a master.
type front struct {
	*faultproxy.Proxy
	listener *embedded.Listener
}

func newWorld(s setup) *world {
	w := &world{clients: s.clientNames(), fronts: map[string][]*front{}}
	for n := range s.founders + spares {
		w.masters = append(w.masters, newMaster(n))
	}
	for i, client := range append(s.clientNames(), operators) {
		for n, m := range w.masters {
			l := embedded.Listen(client + " to " + m.name)
			dial := m.server.Dialer()
			p := faultproxy.NewOn(l, func(ctx context.Context) (net.Conn, error) { return dial(ctx, "", "") })
			p.Jitter(jitter(s.latency, rand.New(rand.NewPCG(s.seed, forWire|uint64(i)<<8|uint64(n)))))
			w.fronts[client] = append(w.fronts[client], &front{p, l})
		}
	}
	return w
}

// jitter returns a function that returns random delays with the given mean: mostly short ones, now and then a long one.
func jitter(mean time.Duration, chance *rand.Rand) func() time.Duration {
	return func() time.Duration { return time.Duration(chance.ExpFloat64() * float64(mean)) }
}

func (w *world) Masters() []cluster.Master {
	all := make([]cluster.Master, len(w.masters))
	for i, m := range w.masters {
		all[i] = m
	}
	return all
}

func (w *world) Fsync() cluster.Fsync { return cluster.Always }

func (w *world) Clients() []string { return w.clients }

func (w *world) Front(client string) (all []*faultproxy.Proxy) {
	for _, f := range w.fronts[client] {
		all = append(all, f.Proxy)
	}
	return all
}

func (w *world) close() error {
	for _, fronts := range w.fronts {
		for _, f := range fronts {
			if err := f.Close(); err != nil {
				return fmt.Errorf("sim: %w", err)
			}
		}
	}
	for _, m := range w.masters {
		m.server.Close()
	}
	return nil
}
