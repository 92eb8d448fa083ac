package master

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Endpoint is the way to reach a master.
type Endpoint struct {
	Redis      *redis.Client         // for the queue; nil if the master was refused
	Subscriber redis.UniversalClient // for notices
	Own        bool                  // Close closes it
	door       *door                 // dials our own connections; nil with a failover client
}

// NewEndpoint returns an Endpoint with connections of our own.
func NewEndpoint(o *redis.Options, timeout time.Duration) Endpoint {
	d := new(door)
	c := redis.NewClient(clientOptions(o, timeout, d))
	return Endpoint{Redis: c, Subscriber: c, Own: true, door: d}
}

// poolSize has room for the links, and for commands that are sent past the queue.
const poolSize = 2 * maxLinks

// ClientOptions returns the options for a client that reaches the same server as o, and does nothing by itself: it does
// not retry, dial in advance, listen to pushed messages or log. Its reads and writes end after timeout, or at the
// deadline of their context.
func ClientOptions(o *redis.Options, timeout time.Duration) *redis.Options {
	return clientOptions(o, timeout, new(door))
}

func clientOptions(o *redis.Options, timeout time.Duration, d *door) *redis.Options {
	o.MaxRetries = -1
	o.ReadTimeout, o.WriteTimeout = timeout, timeout
	o.ContextTimeoutEnabled = true
	if o.DialTimeout == 0 {
		o.DialTimeout = timeout
	}
	o.PoolSize, o.MaxConcurrentDials = poolSize, 0
	o.MinIdleConns, o.MaxActiveConns, o.PoolTimeout = 0, 0, 0
	o.MaxIdleConns = 1 // an idle connection may be stale when it is used: see onceMore
	// Pipelines must not have a pool of their own. Otherwise the steps of package membership and the
	// looks at the server would use different connections. If the connection for the steps led to
	// another server, all steps would fail, and no look would show why.
	o.PipelinePoolSize = -1
	o.Protocol = 2 // the server pushes nothing; with 3, go-redis checks for pushes before each reply
	o.PushNotificationProcessor = nil
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled, EndpointType: maintnotifications.EndpointTypeNone}
	o.DisableIdentity = true
	dial := o.Dialer
	if dial == nil {
		dial = redis.NewDialer(o)
	}
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d.dial(ctx, network, addr, dial)
		if err != nil {
			return refusedConn{&setupError{err}}, nil
		}
		return conn, nil
	}
	return o
}

// untilEnd returns a context. When it ends, the connections that were dialled with it are closed. (To close a
// subscription is not enough: go-redis holds a mutex while it sets up a subscription, so Close would wait for a server
// that does not answer.)
func untilEnd(ctx context.Context) context.Context {
	return context.WithValue(ctx, endKey{}, ctx)
}

type endKey struct{}

// closeWith closes conn when the context that was given to untilEnd ends. (A dial's own ctx ends with
// the dial.)
func closeWith(ctx context.Context, conn net.Conn) {
	if whole, ok := ctx.Value(endKey{}).(context.Context); ok {
		context.AfterFunc(whole, func() { _ = conn.Close() })
	}
}

// refusedConn is returned by a dial that failed, instead of an error. Each use of it fails. After an
// error of a dial, go-redis would log the error, pause and dial again. After several errors it would
// dial only once a second, and fail all requests meanwhile. The settings of go-redis can turn off only a
// part of this.
type refusedConn struct{ err error }

func (c refusedConn) Read([]byte) (int, error)       { return 0, c.err }
func (c refusedConn) Write([]byte) (int, error)      { return 0, c.err }
func (refusedConn) Close() error                     { return nil }
func (refusedConn) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (refusedConn) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (refusedConn) SetDeadline(time.Time) error      { return nil }
func (refusedConn) SetReadDeadline(time.Time) error  { return nil }
func (refusedConn) SetWriteDeadline(time.Time) error { return nil }

// setupError is a wrapper around the reason why there is no connection. While go-redis sets up a connection, it unwraps
// an error once. This wrapper is what it removes.
type setupError struct{ err error }

func (e *setupError) Error() string { return e.err.Error() }
func (e *setupError) Unwrap() error { return e.err }

// dialError is the error of a dial.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// discardOnClose makes a later Close of conn drop the bytes that the kernel has not sent yet. When a
// request times out, its connection is closed in the middle of the request. Without discardOnClose, the
// kernel would resend the bytes for minutes, and an acquire could arrive long after its release.
func discardOnClose(conn net.Conn) {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = secure.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // bytes that the kernel has sent may still arrive: the gone mark is for these
	}
}

// PoolOf returns the highest number of connections in the pool of a client with these options.
func PoolOf(o *redis.Options) int {
	if o.MaxActiveConns > 0 {
		return min(o.PoolSize, o.MaxActiveConns)
	}
	return o.PoolSize
}
