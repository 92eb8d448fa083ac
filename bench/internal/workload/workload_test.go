package workload

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/exclusion"
	"github.com/redlock-go/redlock/bench/internal/server"
)

func TestNamesAreUniqueAndEachWorkloadSuitsThisLibrary(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range All() {
		if seen[w.Name] {
			t.Errorf("twice: %s", w.Name)
		}
		seen[w.Name] = true
		if !w.Suits(contender.ByName("redlock")) {
			t.Errorf("%s leaves this library out", w.Name)
		}
		if w.Workers%processes != 0 && w.Layout == Processes {
			t.Errorf("%s: %d workers cannot be spread over %d processes", w.Name, w.Workers, processes)
		}
	}
}

// mutexClient is a lock in memory, or none at all.
type mutexClient struct {
	mu    *sync.Mutex
	token uint64
}

func (c *mutexClient) Lock(context.Context, string, bool) (contender.Held, error) {
	if c.mu != nil {
		c.mu.Lock()
		c.token++
	}
	return mutexHeld{c, c.token}, nil
}

func (c *mutexClient) Close() error { return nil }

type mutexHeld struct {
	c     *mutexClient
	token uint64
}

func (h mutexHeld) Token() uint64 { return h.token }

func (h mutexHeld) Unlock(context.Context) error {
	if h.c.mu != nil {
		h.c.mu.Unlock()
	}
	return nil
}

const cellLength = 50 * time.Millisecond

// measureInMemory measures again when the machine was too busy to run the workers.
func measureInMemory(t *testing.T, client contender.Client, o order) (s sample, err error) {
	t.Helper()
	for range 20 {
		if s, err = measureOnce(t, client, o); s.held() >= 5 {
			break
		}
	}
	return s, err
}

func measureOnce(t *testing.T, client contender.Client, o order) (sample, error) {
	t.Helper()
	o.Page = t.TempDir() + "/page"
	check, err := exclusion.Open(o.Page)
	if err != nil {
		t.Fatal(err)
	}
	defer check.Close()
	c := &crew{order: o, clients: []contender.Client{client}, check: check}
	return c.work(opens(10*time.Millisecond, cellLength)), check.Err()
}

func TestContendedCell(t *testing.T) {
	o := order{Workers: 4, Contended: true, Hold: time.Millisecond}
	s, err := measureInMemory(t, &mutexClient{mu: new(sync.Mutex)}, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := s.held(); n < 5 || n > 50 {
		t.Fatalf("%d holds of 1ms in %v", n, cellLength)
	}
	cell := cellOf(s, server.Used{CPU: time.Millisecond}, cellLength)
	if cell.Wait.Max < time.Millisecond || cell.Pair.P50 < time.Millisecond || cell.Handover.P50 <= 0 || cell.Evenness <= 0 {
		t.Errorf("%+v", cell)
	}
}

func TestContendedCellCatchesALockThatIsNone(t *testing.T) {
	_, err := measureInMemory(t, &mutexClient{}, order{Workers: 4, Contended: true, Hold: time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "entered while another held") {
		t.Errorf("got %v", err)
	}
}

func TestDistinctCell(t *testing.T) {
	s, err := measureInMemory(t, &mutexClient{mu: new(sync.Mutex)}, order{Workers: 2})
	if err != nil || s.held() == 0 || len(s.Pairs) != s.held() || len(s.Waits) != s.held() || len(s.Counts) != 2 || s.Failed != 0 {
		t.Errorf("%d holds, %d pairs, %d waits, %v", s.held(), len(s.Pairs), len(s.Waits), err)
	}
}
