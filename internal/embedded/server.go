package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// ErrClosed is returned by Restart after Close.
var ErrClosed = errors.New("embedded: the server is closed")

// poolSize is far more than a client needs, and costs nothing because connections are made on demand. After poolSize
// refused dials, however far apart, go-redis starts a goroutine that dials once a second. Until that goroutine
// succeeds, go-redis refuses other dials. Then a master that is back would still seem dead, and a bubble could not end.
const poolSize = 1024

var servers atomic.Int64 // the number of servers made, used in their names

// Server is one master. Its data survives a Kill without wipe, and ttls run on while the master is down, as with an
// AOF. After CONFIG SET appendonly no, the data of that moment survives. All methods may be called at the same time
// from several goroutines.
type Server struct {
	name   string
	listen string // the TCP address, empty for none
	data   *miniredis.Miniredis
	redis  *server.Server // the commands of data; it has no connections

	// state is held while a command runs, and guards the fields below. It is never held during a wait.
	state   sync.Mutex
	engine  *engine
	offset  time.Duration    // of the clock
	file    Snapshot         // the data of the next life; nil: the present data
	time    time.Time        // by the clock of the master, when the command under way began
	ends    map[string]int64 // when keys expire, ms since 1970; may have keys without a ttl
	soonest int64            // no key expires before this time, ms since 1970

	// life works as a mutex: its holder has put a value into the channel. It is held while the master goes up or
	// down. A sync.Mutex would not do: the holder waits for connections to end, and a goroutine that waits for a
	// mutex stops the clock of a bubble.
	life   chan struct{}
	closed bool // guarded by life

	promoted atomic.Bool // the next run reports that it was a replica

	mu  sync.Mutex
	run *run // nil while down
}

// New starts a master that is only reachable through its Dialer.
func New() *Server {
	s := newServer()
	_ = s.start() // only listening can fail
	return s
}

// NewListening starts a master that is also served on the TCP address addr, such as "127.0.0.1:0" for a free port on
// the loopback. It returns an error if it cannot listen.
func NewListening(addr string) (*Server, error) {
	s := newServer()
	s.listen = addr
	if err := s.start(); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	return s, nil
}

func newServer() *Server {
	s := &Server{
		name: fmt.Sprintf("embedded-%d", servers.Add(1)), data: miniredis.NewMiniRedis(), engine: newEngine(),
		ends: map[string]int64{}, life: make(chan struct{}, 1),
	}
	if conn, err := s.data.Dial(); err == nil { // registers the commands of miniredis; never fails without a port
		_ = conn.Close()
	}
	s.redis = s.data.Server()
	return s
}

// start brings the master up. The caller must hold life, or have the only reference to the Server.
func (s *Server) start() error {
	var port net.Listener
	if s.listen != "" {
		var err error
		if port, err = net.Listen("tcp", s.listen); err != nil {
			return err
		}
		if addr := port.Addr().String(); addr != s.listen { // only at the first start, before others can call Addr
			s.listen = addr
		}
	}
	s.state.Lock()
	s.tick()
	r := newRun(s)
	s.state.Unlock()
	if port != nil {
		r.begin(port, func() { r.accept(port) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run = r
	return nil
}

// Addr returns the TCP address of a listening master. For a master without an address, it returns a made-up name that
// is unique in this process, such as "embedded-1".
func (s *Server) Addr() string {
	if s.listen != "" {
		return s.listen
	}
	return s.name
}

// Dialer returns a function for redis.Options.Dialer. The function connects inside the process, whatever address it
// gets. While the master is down, dialing fails with a *net.OpError that is syscall.ECONNREFUSED for errors.Is.
func (s *Server) Dialer() func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		if err := ctx.Err(); err != nil {
			return nil, s.dialError(err)
		}
		if r := s.current(); r != nil {
			if conn := r.connect(s.Addr()); conn != nil {
				return conn, nil
			}
		}
		return nil, s.dialError(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	}
}

func (s *Server) dialError(err error) error {
	addr := address(s.Addr())
	return &net.OpError{Op: "dial", Net: addr.Network(), Addr: addr, Err: err}
}

// Options returns new options for a go-redis client of this master. They suit a bubble, and do not hide faults: RESP2,
// no retries of commands or dials, the end of a context ends its commands, and no goroutine stays in the background.
func (s *Server) Options() *redis.Options {
	return &redis.Options{
		Addr:                     s.Addr(),
		Dialer:                   s.Dialer(),
		Protocol:                 2,
		DisableIdentity:          true,
		MaxRetries:               -1,
		DialerRetries:            1,
		DialerRetryTimeout:       1, // go-redis waits this long after the last attempt too, by default 100 ms
		ContextTimeoutEnabled:    true,
		PoolSize:                 poolSize,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled, EndpointType: maintnotifications.EndpointTypeNone},
	}
}

// Kill brings the master down, even a paused one: connections die, dials are refused, and requests that have not begun
// are lost. It returns once no goroutine of the run is left. If wipe is true, the data is lost as well, even if the
// master is already down. Loaded scripts are always lost.
func (s *Server) Kill(wipe bool) {
	s.life <- struct{}{}
	defer func() { <-s.life }()
	s.stop()
	if wipe {
		s.FlushAll()
	}
}

// stop brings the master down. The caller must hold life.
func (s *Server) stop() {
	s.mu.Lock()
	r := s.run
	s.run = nil
	s.mu.Unlock()
	if r == nil {
		return
	}
	r.end()
	s.state.Lock()
	defer s.state.Unlock()
	if s.file != nil {
		s.replace(s.file)
		s.file = nil
	}
}

// Restart starts a master that is down, with a new run_id and the data that the Kill left. It does nothing if the
// master is up. It fails with ErrClosed after Close. It also fails if another process has taken the TCP address of a
// listening master.
func (s *Server) Restart() error {
	s.life <- struct{}{}
	defer func() { <-s.life }()
	if s.closed {
		return ErrClosed
	}
	if s.Running() {
		return nil
	}
	if err := s.start(); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

// Pause freezes the master as SIGSTOP does: connections stay, dials succeed, and requests wait
// for Resume. A command that has begun still ends. Pause does nothing if the master is down.
func (s *Server) Pause() {
	if r := s.current(); r != nil {
		r.gate.setPaused(true)
	}
}

// Resume ends a pause: all waiting requests are served, in order on each connection, even requests of
// clients that are gone.
func (s *Server) Resume() {
	if r := s.current(); r != nil {
		r.gate.setPaused(false)
	}
}

// current returns the present run, or nil while the master is down.
func (s *Server) current() *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// Running reports whether the master is up, paused or not.
func (s *Server) Running() bool { return s.current() != nil }

// FlushAll removes all data. Clients get no message about it.
func (s *Server) FlushAll() { s.Restore(nil) }

// Close brings the master down for good and returns once no goroutine of it is left. It can be called
// again.
func (s *Server) Close() {
	s.life <- struct{}{}
	defer func() { <-s.life }()
	s.closed = true
	s.stop()
}
