package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/embedded"
)

// master is a cluster.Master in this process. It acts as a real master with cluster.Always: every write is on disk
// before it is answered.
type master struct {
	name   string
	server *embedded.Server

	mu     sync.Mutex
	frozen bool
	copied embedded.Snapshot  // the data at the last Lag
	backup *embedded.Snapshot // nil: none
	chance *rand.Rand         // draws which keys are evicted
}

var _ cluster.Master = (*master)(nil)

func newMaster(number int) *master {
	return &master{
		name: fmt.Sprint("m", number), server: embedded.New(), chance: rand.New(rand.NewPCG(uint64(number), 0)),
	}
}

func (m *master) Name() string  { return m.name }
func (m *master) Addr() string  { return m.name + ":6379" }
func (m *master) Running() bool { return m.server.Running() }

func (m *master) Kill() error {
	m.setFrozen(false)
	m.server.Kill(false)
	return nil
}

func (m *master) Start() error { return m.server.Restart() }

func (m *master) Wipe() error {
	m.server.FlushAll()
	return nil
}

func (m *master) Freeze() error {
	m.setFrozen(true)
	m.server.Pause()
	return nil
}

func (m *master) Thaw() error {
	m.setFrozen(false)
	m.server.Resume()
	return nil
}

func (m *master) Frozen() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.frozen
}

func (m *master) setFrozen(frozen bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.frozen = frozen
}

func (m *master) SetClock(offset time.Duration) error {
	m.server.SetClock(offset)
	return nil
}

// Follow does nothing: Lag makes the copy.
func (m *master) Follow(context.Context) error { return nil }

func (m *master) Lag() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.copied = m.server.Snapshot()
	return nil
}

func (m *master) Promote() error {
	m.mu.Lock()
	copied := m.copied
	m.mu.Unlock()
	m.server.Kill(false)
	m.server.Restore(copied)
	m.server.Promote()
	return m.server.Restart()
}

func (m *master) Backup() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	backup := m.server.Snapshot()
	m.backup = &backup
	return nil
}

func (m *master) Restore() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.server.Running():
		return cluster.ErrRunning
	case m.backup == nil:
		return cluster.ErrNoBackup
	}
	m.server.Restore(*m.backup)
	return nil
}

// Crowd removes half of the keys with an expiry.
func (m *master) Crowd() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.server.Running() {
		return cluster.ErrNotRunning
	}
	m.server.Evict(0.5, m.chance)
	return nil
}

func (m *master) ReplicaOf(leader cluster.Master) error {
	if leader == nil {
		m.server.Follow(nil)
		return nil
	}
	m.server.Follow(leader.(*master).server)
	return nil
}

func (m *master) Occupy() (release func() error, err error) {
	m.server.SetBusy(true)
	return func() error {
		m.server.SetBusy(false)
		return nil
	}, nil
}

func (m *master) Do(ctx context.Context, args ...any) (any, error) {
	client := redis.NewClient(m.options())
	defer client.Close()
	return client.Do(ctx, args...).Result()
}

// options returns the options of a client that reaches the master directly.
func (m *master) options() *redis.Options {
	o := m.server.Options()
	o.Addr = m.Addr()
	o.ReadBufferSize, o.WriteBufferSize = 4<<10, 4<<10 // by default 32 KiB, which is most of the memory of a connection here
	return o
}
