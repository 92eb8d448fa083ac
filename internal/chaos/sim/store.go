package sim

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/work"
)

// newStores returns a store with a guard and a store without a guard.
func newStores(seed uint64) []work.Store {
	return []work.Store{
		&store{name: history.RedisGuarded, guarded: true, cells: map[string]*cell{}, chance: rand.New(rand.NewPCG(seed, forGuarded))},
		&store{name: history.Unguarded, cells: map[string]*cell{}, chance: rand.New(rand.NewPCG(seed, forUnguarded))},
	}
}

// store keeps a number for each resource. Each request and reply has a delay.
type store struct {
	name    string
	guarded bool

	mu     sync.Mutex
	cells  map[string]*cell
	chance *rand.Rand
}

type cell struct {
	fence fence.Token
	value int64
}

func (s *store) Name() string { return s.name }

func (s *store) Write(ctx context.Context, resource string, token fence.Token, value int64) error {
	_, err := s.access(ctx, resource, token, func(c *cell) { c.value = value })
	return err
}

func (s *store) Read(ctx context.Context, resource string, token fence.Token) (int64, error) {
	return s.access(ctx, resource, token, func(*cell) {})
}

// access calls do() with the cell of the resource. A guarded store first claims the resource for the token, unless the
// token is 0.
func (s *store) access(ctx context.Context, resource string, token fence.Token, do func(*cell)) (int64, error) {
	s.travel()
	defer s.travel()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cells[resource]
	if c == nil {
		c = &cell{}
		s.cells[resource] = c
	}
	if s.guarded && token != 0 {
		if token < c.fence {
			return 0, fence.ErrStale
		}
		c.fence = token
	}
	do(c)
	return c.value, ctx.Err()
}

// travel waits as long as a message takes.
func (s *store) travel() {
	s.mu.Lock()
	d := time.Duration(s.chance.ExpFloat64() * float64(time.Millisecond))
	s.mu.Unlock()
	time.Sleep(d)
}
