package embedded

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// run is one life of a master, from a start to the next Kill. A run owns its connections. The server of miniredis has
// no connections, lives as long as the Server and is never closed.
type run struct {
	server *Server
	id     string // run_id: 40 hex digits
	gate   *gate

	// Guarded by Server.state.
	started  time.Time // by the master's clock
	scripts  map[string]*lua.LFunction
	settings map[string]string
	evicted  int           // keys
	master   string        // the id of its former master, or zeros
	follows  *run          // its master, if it is a replica
	replicas map[*run]bool // its replicas

	mu    sync.Mutex
	open  map[io.Closer]bool // what the end of the run closes; nil after the end
	tasks sync.WaitGroup
}

// newRun begins a life, at the time of the last tick. The caller must hold s.state.
func newRun(s *Server) *run {
	r := &run{
		server: s, id: randomID(), gate: newGate(), started: s.time, open: map[io.Closer]bool{},
		scripts: map[string]*lua.LFunction{}, settings: settings(), master: strings.Repeat("0", 40), replicas: map[*run]bool{},
	}
	if s.promoted.Swap(false) {
		r.master = randomID()
	}
	return r
}

func randomID() string {
	var id [20]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// begin runs a task in a goroutine. The end of the run shuts the gate and closes c, and the task must end soon after
// that. If the run is over, begin closes c and returns false.
func (r *run) begin(c io.Closer, task func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		_ = c.Close()
		return false
	}
	r.open[c] = true
	r.tasks.Go(func() {
		task()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, c)
	})
	return true
}

// end kills the run, and returns once none of its goroutines runs any more.
func (r *run) end() {
	r.gate.close()
	r.mu.Lock()
	for c := range r.open {
		_ = c.Close()
	}
	r.open = nil
	r.mu.Unlock()
	r.tasks.Wait()
}

// accept serves the connections to a port until the port is closed.
func (r *run) accept(port net.Listener) {
	for {
		conn, err := port.Accept()
		if err != nil {
			return
		}
		r.begin(conn, func() { r.serve(conn) })
	}
}

// connect returns the client's end of a new connection, or nil if the run is over.
func (r *run) connect(addr string) net.Conn {
	near, far := newPipe(addr)
	if !r.begin(far, func() { r.serve(far) }) {
		return nil
	}
	return near
}

// serve runs the commands of a connection until the connection or the run ends.
func (r *run) serve(conn net.Conn) {
	defer conn.Close()
	in, peer := bufio.NewReader(conn), server.NewPeer(bufio.NewWriter(conn))
	defer r.unsubscribe(peer)
	for !peer.Closed() {
		request, err := server.ParseReply(in)
		if err != nil {
			return
		}
		words, _ := request.([]any)
		args := make([]string, len(words))
		for i := range words {
			args[i], _ = words[i].(string)
		}
		if len(args) > 0 && !r.handle(peer, strings.ToUpper(args[0]), args[1:]) {
			return
		}
		peer.Flush()
	}
}

// unsubscribe ends the goroutines of miniredis for a subscriber.
func (r *run) unsubscribe(peer *server.Peer) {
	r.server.redis.Dispatch(peer, []string{"UNSUBSCRIBE"})
	r.server.redis.Dispatch(peer, []string{"PUNSUBSCRIBE"})
}
