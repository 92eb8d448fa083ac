package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/docker"
)

// confName is the name of the configuration in a master's control folder: a copy of a file in docker/redis.
const confName = "redis.conf"

// master is a Master. The server on its address is the home server or, from a promotion to the next start, a replica.
type master struct {
	name   string
	engine engine
	at     place
	home   server
	folder string // of the cluster
	kept   string // the folder of the backup

	// mu is held while the server is changed.
	mu       sync.Mutex
	replica  *replica
	promoted *replica
	backedUp bool

	// state guards the fields below. Unlike mu, it is locked only for moments, even while the server is changed.
	state  sync.Mutex
	acting server
	frozen bool
}

// newMaster starts a master with its files in a folder.
func newMaster(folder, name string, e engine, fsync Fsync) (*master, error) {
	m := &master{name: name, engine: e, folder: folder, kept: filepath.Join(folder, "backup")}
	m.at = place{name, filepath.Join(folder, "home"), filepath.Join(folder, "control")}
	err := m.furnish(fsync)
	if err == nil {
		m.home, err = e.launch(m.at)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: %s: %w", name, err)
	}
	m.acting = m.home
	return m, nil
}

// furnish makes the folders and their files.
func (m *master) furnish(fsync Fsync) error {
	for _, folder := range []string{m.at.data, m.at.control, m.kept} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	conf, err := docker.Files.ReadFile("redis/" + string(fsync) + ".conf")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(m.at.control, confName), conf, 0o644); err != nil {
		return err
	}
	return setClock(m.at.control, 0)
}

func (m *master) Name() string { return m.name }

// Addr returns the address of the home server, even while a promoted replica listens on this address.
func (m *master) Addr() string { return m.home.addr() }

func (m *master) serving() server {
	m.state.Lock()
	defer m.state.Unlock()
	return m.acting
}

func (m *master) serve(s server) {
	m.state.Lock()
	defer m.state.Unlock()
	m.acting = s
	m.frozen = false
}

func (m *master) setFrozen(frozen bool) {
	m.state.Lock()
	defer m.state.Unlock()
	m.frozen = frozen
}

func (m *master) Running() bool { return m.serving().running() }

func (m *master) Frozen() bool {
	m.state.Lock()
	defer m.state.Unlock()
	return m.frozen && m.acting.running()
}

func (m *master) Kill() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kill()
}

// kill is Kill for callers that hold mu.
func (m *master) kill() error {
	err := m.serving().kill()
	m.setFrozen(false)
	return err
}

func (m *master) Start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.serving().running() {
		return nil
	}
	if err := m.settle(); err != nil {
		return err
	}
	return m.home.start()
}

func (m *master) Wipe() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.settle(); err != nil {
		return err
	}
	return wipe(m.at.data)
}

func (m *master) Backup() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.at
	if m.promoted != nil {
		at = m.promoted.at
	}
	err := copyData(at.data, m.kept)
	m.backedUp = err == nil
	return err
}

func (m *master) Restore() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.backedUp {
		return ErrNoBackup
	}
	if err := m.settle(); err != nil {
		return err
	}
	return copyData(m.kept, m.at.data)
}

// settle moves the data of a promoted replica to the home server. It returns ErrRunning if the master is not down.
func (m *master) settle() error {
	if m.serving().running() {
		return ErrRunning
	}
	m.setFrozen(false)
	if m.promoted == nil {
		return nil
	}
	if err := m.promoted.remove(); err != nil {
		return err
	}
	if err := move(m.promoted.at.data, m.at.data); err != nil {
		return err
	}
	m.promoted = nil
	m.serve(m.home)
	return nil
}

func (m *master) Freeze() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.serving().running() {
		return ErrNotRunning
	}
	if m.Frozen() {
		return nil
	}
	if err := m.serving().freeze(); err != nil {
		return err
	}
	m.setFrozen(true)
	return nil
}

func (m *master) Thaw() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.Frozen() {
		return nil
	}
	if err := m.serving().thaw(); err != nil {
		return err
	}
	m.setFrozen(false)
	return nil
}

func (m *master) SetClock(offset time.Duration) error {
	if err := m.engine.clock(); err != nil {
		return err
	}
	return setClock(m.at.control, offset)
}

func (m *master) Follow(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.dropReplica(); err != nil {
		return err
	}
	at := m.at
	at.name += "-replica"
	// Each replica has a folder of its own, because the previous replica may have been promoted.
	data, err := os.MkdirTemp(m.folder, "replica-")
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	at.data = data
	if err := os.Chmod(data, 0o755); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if m.replica, err = follow(ctx, m.engine, at, m.Addr()); err != nil {
		return fmt.Errorf("cluster: replica of %s: %w", m.name, err)
	}
	return nil
}

func (m *master) dropReplica() error {
	if m.replica == nil {
		return nil
	}
	r := m.replica
	m.replica = nil
	return errors.Join(r.remove(), os.RemoveAll(r.at.data))
}

func (m *master) Lag() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.replica == nil {
		return ErrNoReplica
	}
	return m.replica.leave()
}

func (m *master) Promote() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.replica == nil {
		return ErrNoReplica
	}
	err := m.kill()
	if err == nil {
		err = m.settle() // this replica replaces one that was promoted before
	}
	if err != nil {
		return err
	}
	_, port, _ := strings.Cut(m.Addr(), ":")
	if err := m.replica.take(port); err != nil {
		return err
	}
	m.promoted, m.replica = m.replica, nil
	m.serve(m.promoted)
	return nil
}

func (m *master) Do(ctx context.Context, args ...any) (any, error) { return do(ctx, m.Addr(), args...) }

// close ends all servers for good.
func (m *master) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.dropReplica()
	if m.promoted != nil {
		err = errors.Join(err, m.promoted.remove())
	}
	if m.home != nil {
		err = errors.Join(err, m.home.remove())
	}
	return err
}
