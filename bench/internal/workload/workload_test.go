package workload

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/bench/internal/child"
	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/server"
)

func TestMain(m *testing.M) {
	contender.All = append(contender.All,
		contender.Contender{Name: "mutex", Open: func([]string) (contender.Client, error) { return &memory{locks: true}, nil }},
		contender.Contender{Name: "none", Open: func([]string) (contender.Client, error) { return &memory{}, nil }},
		contender.Contender{Name: "failing", Open: func([]string) (contender.Client, error) { return &memory{locks: true, fails: true}, nil }},
	)
	child.Main(Roles)
	os.Exit(m.Run())
}

// memory is a lock in memory. If its field locks is false, it excludes nobody.
type memory struct {
	locks, fails bool
	mu           sync.Mutex
	token        uint64
}

func (c *memory) Lock(_ context.Context, _ string, wait bool) (contender.Held, error) {
	if c.fails && !wait {
		return nil, errors.New("refused")
	}
	if !c.locks {
		return held{}, nil
	}
	c.mu.Lock()
	c.token++
	return held{c, c.token}, nil
}

func (c *memory) Close() error { return nil }

type held struct {
	c     *memory
	token uint64
}

func (h held) Token() uint64 { return h.token }

func (h held) Unlock(context.Context) error {
	if h.c != nil {
		h.c.mu.Unlock()
	}
	return nil
}

const cellLength = 200 * time.Millisecond

func measureInMemory(w Workload, name string) (Cell, error) {
	on := &server.Running{PIDs: []int{os.Getpid()}}
	return Measure(w, contender.ByName(name), child.Self, on, cellLength)
}

func TestCells(t *testing.T) {
	t.Parallel()
	contended := Workload{Workers: 4, Contended: true, Hold: time.Millisecond}
	cell, err := measureInMemory(contended, "mutex")
	if err != nil {
		t.Fatal(err)
	}
	if cell.Pairs > 200 || cell.PerSecond != cell.Pairs*5 || cell.PairP50 < time.Millisecond || cell.WaitP99 < time.Millisecond || cell.Failed != 0 {
		t.Errorf("holds of 1 ms: %+v", cell)
	}
	cell, err = measureInMemory(Workload{Workers: 2}, "mutex")
	if err != nil || cell.PairP50 == 0 || cell.PairP99 < cell.PairP50 || cell.WaitP50 > cell.PairP50 || cell.Failed != 0 {
		t.Errorf("distinct names: %+v, %v", cell, err)
	}
	if _, err := measureInMemory(contended, "none"); !errors.Is(err, ErrViolated) {
		t.Errorf("a lock that is none: %v", err)
	}
	contended.Processes = 2
	if _, err := measureInMemory(contended, "mutex"); !errors.Is(err, ErrViolated) {
		t.Errorf("a lock that does not exclude other processes: %v", err)
	}
	if _, err := measureInMemory(Workload{Workers: 2}, "failing"); err == nil || !strings.Contains(err.Error(), "errors, the first: refused") {
		t.Errorf("a lock that nobody gets: %v", err)
	}
}

func TestExclusive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		holds []hold
		want  string // "": nothing was violated
	}{
		{[]hold{{3, 4, 2}, {1, 2, 1}, {4, 5, 3}}, ""},
		{[]hold{{1, 2, 0}, {2, 3, 0}}, ""},
		{[]hold{{1, 9, 1}, {2, 3, 2}, {4, 5, 3}}, "2 began while another lasted, and 0 tokens"},
		{[]hold{{1, 2, 7}, {3, 4, 7}, {5, 6, 6}}, "0 began while another lasted, and 2 tokens"},
	} {
		if err := exclusive(c.holds); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.holds, err, c.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = 100 - i
	}
	for _, c := range []struct {
		in   []int
		q    float64
		want int
	}{{nil, .5, 0}, {[]int{7}, .99, 7}, {[]int{2, 1}, .5, 1}, {hundred, .5, 50}, {hundred, .99, 99}} {
		if got := Quantile(slices.Clone(c.in), c.q); got != c.want {
			t.Errorf("%v of %d values: %d, want %d", c.q, len(c.in), got, c.want)
		}
	}
}
