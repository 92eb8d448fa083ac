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

// confName is the file in a master's control folder: a copy of one of docker/redis.
const confName = "redis.conf"

// master is the only Master. What serves on its address is the server at home or, from a promotion
// to the next start, a replica.
type master struct {
	name   string
	engine engine
	disk   *disk
	at     place
	home   server
	kept   string // the folder of the backup

	// mu is held while the server is changed.
	mu       sync.Mutex
	replica  *replica
	promoted *replica
	backedUp bool

	// state may be read while the server is changed.
	state  sync.Mutex
	acting server
	frozen bool
}

// newMaster starts a master below the folder of the run. What it cannot do, it says to log.
func newMaster(run *folder, name string, e engine, cfg Config, log func(string, ...any)) (*master, error) {
	m := &master{name: name, engine: e}
	if err := m.furnish(run, cfg, log); err != nil {
		return nil, errors.Join(fmt.Errorf("cluster: %s: %w", name, err), m.close())
	}
	home, err := e.launch(m.at)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cluster: %s: %w", name, err), m.close())
	}
	m.home, m.acting = home, home
	return m, nil
}

// furnish makes the folders and the files in them.
func (m *master) furnish(run *folder, cfg Config, log func(string, ...any)) error {
	path, err := run.sub(m.name, diskName)
	if err != nil {
		return err
	}
	var cannot error
	if m.disk, cannot = newDisk(path, cfg.SmallDisk); cannot != nil {
		log("%s has no small disk: %v", m.name, cannot)
	}
	m.at.name = m.name
	if m.at.data, err = run.sub(m.name, diskName, "home"); err != nil {
		return err
	}
	if m.at.control, err = run.sub(m.name, "control"); err != nil {
		return err
	}
	if m.kept, err = run.sub(m.name, "backup"); err != nil {
		return err
	}
	conf, err := docker.Files.ReadFile("redis/" + string(cfg.Fsync) + ".conf")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(m.at.control, confName), conf, 0o644); err != nil {
		return err
	}
	return setClock(m.at.control, 0)
}

func (m *master) Name() string { return m.name }

// The home server has the port for good, also while a replica listens there.
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

func (m *master) Truncate(n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.settle(); err != nil {
		return err
	}
	return truncate(m.at.data, n)
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

// settle makes sure that the master is down, and takes the data of a replica that was promoted
// home.
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

func (m *master) FillDisk() error { return m.disk.fill() }
func (m *master) FreeDisk() error { return m.disk.free() }

func (m *master) Follow(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.dropReplica(); err != nil {
		return err
	}
	at := m.at
	at.name += "-replica"
	// A name of its own for each: the one before may be what serves now.
	data, err := os.MkdirTemp(m.disk.path, "replica-")
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
		err = m.settle() // a replica that was promoted before gives way to this one
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
	if m.disk != nil {
		err = errors.Join(err, m.disk.close())
	}
	return err
}
