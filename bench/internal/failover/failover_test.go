package failover

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/bench/internal/reexec"
	"github.com/redlock-go/redlock/bench/internal/server"
)

const (
	stubbornRole = "stubborn" // is elected again when it has resigned
	lapsingRole  = "lapsing"  // loses each term soon
	backwardRole = "backward" // gets a lower token in each term
)

func TestMain(m *testing.M) {
	reexec.Main(map[string]reexec.Role{
		RedlockRole:  Redlock,
		stubbornRole: Candidate(func(Order) (Elector, error) { return &alone{step: 1, lasts: time.Hour}, nil }),
		lapsingRole:  Candidate(func(Order) (Elector, error) { return &alone{step: 1, lasts: time.Millisecond}, nil }),
		backwardRole: Candidate(func(Order) (Elector, error) { return &alone{step: -1, lasts: time.Millisecond}, nil }),
	})
	os.Exit(m.Run())
}

// alone is elected whenever it campaigns.
type alone struct {
	step  int // from token to token
	lasts time.Duration

	mu  sync.Mutex
	end context.CancelFunc
}

func (a *alone) Run(work func(context.Context, uint64)) error {
	for token := 1_000_000; ; token += a.step {
		ctx, end := context.WithTimeout(context.Background(), a.lasts)
		a.mu.Lock()
		a.end = end
		a.mu.Unlock()
		work(ctx, uint64(token))
		end()
	}
}

func (a *alone) Resign() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end()
	return nil
}

const patience = 30 * time.Second

// assembled returns candidates that all campaign, and of which one leads.
func assembled(t *testing.T, role string, order Order, candidates int) *group {
	t.Helper()
	g, err := assemble(reexec.Self, role, order, candidates, patience)
	t.Cleanup(g.stop)
	if err == nil {
		err = g.await(g.ready, "no leader")
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func startMasters(t *testing.T) []string {
	t.Helper()
	masters, err := server.StartRedis(server.RedisConfig{Masters: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(masters.Stop)
	return masters.Addrs
}

func TestAnotherLeads(t *testing.T) {
	t.Parallel()
	order := Order{Addrs: startMasters(t), Election: "election", TTL: 1500 * time.Millisecond}
	results := map[Departure]*Result{}
	for _, how := range Departures {
		results[how] = &Result{}
	}
	if err := Measure(reexec.Self, RedlockRole, order, results); err != nil {
		t.Fatal(err)
	}
	for how, r := range results {
		if len(r.Took) != 1 {
			t.Fatalf("%s: %d were measured, want 1", how, len(r.Took))
		}
		// The lease of who is killed or paused was renewed within the last third of the ttl, or
		// about that.
		if took := r.Took[0]; took <= 0 || how != Resigned && took < order.TTL/3 {
			t.Errorf("%s: another led after %v, with a ttl of %v", how, took, order.TTL)
		}
	}
}

func TestNobodyFollows(t *testing.T) {
	t.Parallel()
	addrs := startMasters(t)
	for _, how := range Departures {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			g := assembled(t, RedlockRole, Order{Addrs: addrs, Election: string(how), TTL: 600 * time.Millisecond}, 1)
			g.patience = time.Second
			_, _, err := g.failover(how)
			if err == nil || !strings.Contains(err.Error(), "nobody was elected after the leader went") {
				t.Errorf("the only candidate was %s: %v", how, err)
			}
		})
	}
}

func TestSameIsElectedAgain(t *testing.T) {
	t.Parallel()
	g := assembled(t, stubbornRole, Order{TTL: time.Millisecond}, 1)
	if _, _, err := g.failover(Resigned); err == nil || !strings.Contains(err.Error(), "it was elected again") {
		t.Error(err)
	}
}

func TestTermsThatEndByThemselvesAreNotMeasured(t *testing.T) {
	t.Parallel()
	g := assembled(t, lapsingRole, Order{TTL: 300 * time.Millisecond}, 1)
	var r Result
	if err := g.measure(Killed, &r); !errors.Is(err, errLost) || len(r.Took) > 0 || r.Lost == 0 {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestTokensMustGrow(t *testing.T) {
	t.Parallel()
	g := assembled(t, backwardRole, Order{TTL: 3 * time.Second}, 1)
	if _, _, err := g.failover(Killed); err == nil || !strings.Contains(err.Error(), "token 999999") {
		t.Error(err)
	}
}

// A candidate whose parent tells no more ends.
func TestCandidateEnds(t *testing.T) {
	t.Parallel()
	role := Candidate(func(Order) (Elector, error) { return &alone{lasts: time.Hour}, nil })
	if err := role(json.NewDecoder(strings.NewReader(`{}`)), json.NewEncoder(io.Discard)); err != nil {
		t.Error(err)
	}
}
