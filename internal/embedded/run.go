package embedded

import (
	"crypto/rand"
	"encoding/hex"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// run is one life of a master, from a start to the next Kill.
type run struct {
	server *Server
	data   *server.Server // the commands of miniredis
	id     string         // run_id: 40 hex digits
	gate   *gate

	// The state of the Server guards what follows.
	started  time.Time // by the master's clock
	scripts  map[string]*lua.LFunction
	settings map[string]string
	evicted  int           // keys
	master   string        // of which it was a replica: its id, or zeros
	follows  *run          // whose replica it is; nil: nobody's
	replicas map[*run]bool // its own

	mu    sync.Mutex
	over  bool
	tasks sync.WaitGroup
}

// newRun begins a life, at the time of the last tick. The caller has the state.
func newRun(s *Server) *run {
	r := &run{
		server: s, data: s.data.Server(), id: randomID(), gate: newGate(), started: s.time,
		scripts: map[string]*lua.LFunction{}, settings: settings(), master: strings.Repeat("0", 40), replicas: map[*run]bool{},
	}
	if s.promoted.Swap(false) {
		r.master = randomID()
	}
	r.data.SetPreHook(r.hook)
	return r
}

// randomID returns 40 hex digits.
func randomID() string {
	var id [20]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// connect returns the client's end of a new connection, or nil if the run is over.
func (r *run) connect(addr string) net.Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil
	}
	near, far := newPipe(addr)
	r.data.ServeConn(far)
	return near
}

// begin runs a task that ends soon when the gate is shut. It does not if the run is over.
func (r *run) begin(task func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.tasks.Go(task)
	}
}

// end kills the run, and returns once nothing of it runs any more.
func (r *run) end() {
	r.gate.close()
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.server.data.Close()
	r.tasks.Wait()
}
