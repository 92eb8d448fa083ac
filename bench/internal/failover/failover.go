package failover

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/redlock-go/redlock/bench/internal/clock"
)

// Departure is how a leader goes.
type Departure string

// The departures. Killed and Paused are by SIGKILL and SIGSTOP.
const (
	Killed   Departure = "killed"
	Paused   Departure = "paused"
	Resigned Departure = "resigned"
)

// Departures are all of them.
var Departures = []Departure{Killed, Paused, Resigned}

// candidates is how many there are at a time, the leader included.
const candidates = 3

// Result is what was measured of one departure.
type Result struct {
	Took []time.Duration // from the departure to when the next leader began to work
	Lost int             // terms that ended by themselves, before the departure
}

// Measure has one leader after the other go, one in each way, and adds what was measured to the
// results. The candidates play the role, in processes of the program.
func Measure(program, role string, order Order, results map[Departure]*Result) (err error) {
	const atLeast = 10 * time.Second // on a machine that is busy
	g, err := assemble(program, role, order, candidates, atLeast+10*order.TTL)
	defer g.stop()
	if err != nil {
		return err
	}
	for _, how := range Departures {
		if err := g.measure(how, results[how]); err != nil {
			return fmt.Errorf("%s: %w", how, err)
		}
	}
	return nil
}

// errLost is that a term ended by itself.
var errLost = errors.New("the leader lost its term by itself")

// measure has a leader go, again if a term ended by itself, and replaces it.
func (g *group) measure(how Departure, into *Result) error {
	const tries = 10
	for range tries {
		old, took, err := g.failover(how)
		if err == nil {
			into.Took = append(into.Took, took)
			return g.replace(old)
		}
		if !errors.Is(err, errLost) {
			return err
		}
		into.Lost++
		if old != nil {
			if err := g.replace(old); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("%w, %d times in a row", errLost, tries)
}

// failover has the leader go, and returns it, and how long it took until another led. With errLost
// it returns the leader if that was made to go.
func (g *group) failover(how Departure) (old *member, took time.Duration, err error) {
	if err := g.await(g.ready, "not all candidates came, or none was elected,"); err != nil {
		return nil, 0, err
	}
	old, token := g.leader, g.token
	if err := g.listen(reign(g.order.TTL)); err != nil {
		return nil, 0, err
	}
	if g.token != token {
		return nil, 0, errLost
	}
	gone := clock.Now()
	if err := depart(old, how); err != nil {
		return nil, 0, err
	}
	followed := func() bool { return g.token != token && (how != Resigned || old.resigned != nil) }
	if err := g.await(followed, "nobody was elected after the leader went"); err != nil {
		return nil, 0, err
	}
	if how == Resigned {
		gone = old.resigned.At
	}
	switch {
	case g.began < gone, how == Resigned && old.resigned.Err != "":
		return old, 0, errLost
	case g.leader == old:
		return nil, 0, errors.New("it was elected again, though others waited")
	}
	return old, time.Duration(g.began - gone), nil
}

// reign draws how long a leader leads before it goes. The others have time to queue, and it goes at
// any moment between two renewals of its lease, which are less than two thirds of the ttl apart.
func reign(ttl time.Duration) time.Duration {
	return ttl/3 + time.Duration(rand.Float64()*float64(ttl)*2/3)
}

func depart(m *member, how Departure) error {
	switch how {
	case Killed:
		return m.kill()
	case Paused:
		return m.Signal(syscall.SIGSTOP)
	}
	return m.Tell("resign")
}
