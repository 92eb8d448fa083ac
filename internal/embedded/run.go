package embedded

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// run is one life of a master, from a start to the next Kill.
type run struct {
	id     string // run_id: 40 hex digits
	gate   *gate
	offset *atomic.Int64 // of the master's clock, ns

	// The mutex of data also guards what stands below it.
	data        *store
	engine      *engine
	started     int64 // us by the master's clock
	scripts     map[string]*lua.LFunction
	subscribers map[string][]*conn // by channel, in the order in which they came
	maxMemory   int64
	settings    map[string]string // see choices
	evicted     int64             // keys
	master      string            // of which it was a replica: its id, or zeros
	follows     *run              // whose replica it is; nil: nobody's
	replicas    map[*run]bool     // its own

	mu      sync.Mutex
	clients int64                  // so far
	open    map[io.Closer]struct{} // nil once the run is over
	serving sync.WaitGroup
}

func newRun(data *store, engine *engine, offset *atomic.Int64, promoted bool) *run {
	r := &run{
		id: randomID(), master: strings.Repeat("0", 40), gate: newGate(), offset: offset,
		data: data, engine: engine, started: clockOf(offset),
		scripts: map[string]*lua.LFunction{}, subscribers: map[string][]*conn{}, settings: settings(), replicas: map[*run]bool{},
		open: map[io.Closer]struct{}{},
	}
	if promoted {
		r.master = randomID()
	}
	return r
}

// randomID returns 40 hex digits.
func randomID() string {
	var id [20]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// clockOf reads the clock of a master, in us since 1970.
func clockOf(offset *atomic.Int64) int64 {
	return time.Now().Add(time.Duration(offset.Load())).UnixMicro()
}

// readClock sets the time of the command that begins. The caller has the data.
func (r *run) readClock() { r.data.now = clockOf(r.offset) }

// do runs a command that is not about a connection.
func (r *run) do(cmd *command, args []string) reply {
	if cmd.data != nil {
		return cmd.data(r.data, args)
	}
	return cmd.life(r, args)
}

// usedMemory is what the master is taken to use. An empty Redis uses as much.
const usedMemory = 1 << 20

// evicts reports that the policy lets keys that expire go.
func (r *run) evicts() bool { return r.settings["maxmemory-policy"] != noEviction }

// full reports that commands which need memory fail.
func (r *run) full() bool { return r.maxMemory != 0 && r.maxMemory < usedMemory }

// connect returns the client's end of a new connection, or nil if the run is over.
func (r *run) connect(addr string) net.Conn {
	near, far := newPipe(addr)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		return nil
	}
	r.clients++
	c := &conn{run: r, wire: far, in: bufio.NewReader(far), id: r.clients}
	r.begin(far, c.serve)
	return near
}

// begin starts what ends soon when the thing is closed, as it is at the end of the run. The caller
// holds mu, and the run is not over.
func (r *run) begin(thing io.Closer, serve func()) {
	r.open[thing] = struct{}{}
	r.serving.Go(func() {
		serve()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, thing)
	})
}

// end kills the run, and returns once nothing of it runs any more.
func (r *run) end() {
	r.gate.close()
	r.mu.Lock()
	for thing := range r.open {
		_ = thing.Close() // it is of no use any more
	}
	r.open = nil
	r.mu.Unlock()
	r.serving.Wait()
}
