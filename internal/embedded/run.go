package embedded

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// run is one life of a master, from a start to the next Kill.
type run struct {
	srv     *server.Server
	id      string // run_id: 40 hex digits
	started time.Time
	dead    chan struct{} // closed by Kill

	forgetful *atomic.Bool

	// clock keeps the master's time from going back when two commands begin at once.
	clock sync.Mutex
	mini  *miniredis.Miniredis

	mu      sync.Mutex
	resumed chan struct{} // nil, or what requests wait for while the master is paused
	clients map[*server.Peer]bool
}

func newRun(mini *miniredis.Miniredis, forgetful *atomic.Bool) *run {
	var id [20]byte
	_, _ = rand.Read(id[:]) // never fails
	return &run{
		srv:     mini.Server(),
		mini:    mini,
		id:      hex.EncodeToString(id[:]),
		started: time.Now(),
		dead:    make(chan struct{}),

		forgetful: forgetful,
		clients:   map[*server.Peer]bool{},
	}
}

func (r *run) pause() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.resumed == nil {
		r.resumed = make(chan struct{})
	}
}

func (r *run) resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.resumed != nil {
		close(r.resumed)
		r.resumed = nil
	}
}

// hook runs before each command, and returns true when miniredis has nothing more to do for it.
func (r *run) hook(c *server.Peer, cmd string, args ...string) bool {
	if r.fromClient(c) {
		if !r.ready() {
			return true
		}
		r.tick()
	}
	if cmd == "INFO" {
		c.WriteBulk(r.info())
		return true
	}
	if cmd == "CONFIG" && len(args) == 2 {
		r.config(c, args[1])
		return true
	}
	return false
}

// tick sets the master's clock, once for each command of a client. Left to itself, miniredis would read the time at
// each access to a key, also within a script, and go through all keys each time: founding a deployment, with its
// thousands of counters, would take seconds.
func (r *run) tick() {
	r.clock.Lock()
	defer r.clock.Unlock()
	r.mini.SetTime(time.Now())
}

// config answers CONFIG GET with what makes the master look as durable as it is.
func (r *run) config(c *server.Peer, name string) {
	value := map[string]string{"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no"}[name]
	if r.forgetful.Load() && name == "appendfsync" {
		value = "everysec"
	}
	c.WriteMapLen(1)
	c.WriteBulk(name)
	c.WriteBulk(value)
}

// fromClient tells a client's command from one that a script calls. The latter must pass even a pause or a kill that
// comes in the middle: scripts are atomic. Scripts use a fresh Peer with a Ctx for each call, while that of a client
// has none before its first command.
func (r *run) fromClient(c *server.Peer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clients[c] {
		return true
	}
	if c.Ctx != nil {
		return false
	}
	r.clients[c] = true
	c.OnDisconnect(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.clients, c)
	})
	return true
}

// ready waits for the end of a pause. It returns false once the master is dead: then nothing may run any more, not
// even what was read from a connection before.
func (r *run) ready() bool {
	for {
		r.mu.Lock()
		resumed := r.resumed
		r.mu.Unlock()
		select {
		case <-r.dead:
			return false
		default:
		}
		if resumed == nil {
			return true
		}
		select {
		case <-resumed:
		case <-r.dead:
		}
	}
}

// info returns the same reply whatever sections are asked for.
func (r *run) info() string {
	uptime := time.Since(r.started)
	return strings.Join([]string{
		"# Server",
		"redis_version:7.0.15",
		"redis_mode:standalone",
		"run_id:" + r.id,
		fmt.Sprintf("server_time_usec:%d", time.Now().UnixMicro()),
		fmt.Sprintf("uptime_in_seconds:%d", int64(uptime.Seconds())),
		fmt.Sprintf("uptime_in_days:%d", int64(uptime.Hours()/24)),
		"",
		"# Memory",
		"maxmemory:0",
		"maxmemory_policy:noeviction",
		"",
		"# Persistence",
		"loading:0",
		"",
		"# Replication",
		"role:master",
		"connected_slaves:0",
		"",
	}, "\r\n")
}
