package master

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Endpoint is how a master is reached.
type Endpoint struct {
	Redis      *redis.Client         // for requests; nil if the master was refused
	Subscriber redis.UniversalClient // for notices
	Own        bool                  // Close closes it
	door       *door                 // of our own connections; else nil
}

// NewEndpoint makes one on connections of our own.
func NewEndpoint(o *redis.Options, timeout time.Duration) Endpoint {
	d := new(door)
	c := redis.NewClient(clientOptions(o, timeout, d))
	return Endpoint{Redis: c, Subscriber: c, Own: true, door: d}
}

// poolSize is enough for the links and for what is asked past the queue.
const poolSize = 2 * maxLinks

// ClientOptions returns the options of a client that reaches the same server as o, and does nothing
// by itself: it does not retry, keep idle connections or listen to what nobody asked for, it keeps
// to the time-outs, and logs nothing.
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
	o.MaxIdleConns = 1 // each may be stale when it is used: see onceMore
	o.Protocol = 2     // nothing is pushed to us; 3 looks for it before each reply
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

// untilEnd returns a ctx that closes the connections which are made with it when it ends. go-redis
// holds a mutex while it sets up a subscription, so that closing that would wait for a server that
// does not answer.
func untilEnd(ctx context.Context) context.Context {
	return context.WithValue(ctx, endKey{}, ctx)
}

type endKey struct{}

// closeWith closes conn when the ctx ends that untilEnd was given. (The one of a dial ends with the
// dial.)
func closeWith(ctx context.Context, conn net.Conn) {
	if whole, ok := ctx.Value(endKey{}).(context.Context); ok {
		context.AfterFunc(whole, func() { _ = conn.Close() })
	}
}

// refusedConn stands for a connection that could not be made. It fails when it is used. When a dial
// fails, go-redis logs that, pauses, dials again, and after a while does so only once a second,
// refusing all by itself meanwhile. There are no settings against most of that.
type refusedConn struct{ err error }

func (c refusedConn) Read([]byte) (int, error)       { return 0, c.err }
func (c refusedConn) Write([]byte) (int, error)      { return 0, c.err }
func (refusedConn) Close() error                     { return nil }
func (refusedConn) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (refusedConn) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (refusedConn) SetDeadline(time.Time) error      { return nil }
func (refusedConn) SetReadDeadline(time.Time) error  { return nil }
func (refusedConn) SetWriteDeadline(time.Time) error { return nil }

// setupError wraps why there is no connection, because go-redis unwraps once what it gets while it
// sets one up.
type setupError struct{ err error }

func (e *setupError) Error() string { return e.err.Error() }
func (e *setupError) Unwrap() error { return e.err }

// dialError is the error of a dial.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// discardOnClose makes closing the connection throw away what the kernel has not sent yet. A
// connection is only closed in the middle of something when a request timed out; without this, its
// bytes would go on being resent for minutes, and an acquire could arrive long after its release.
func discardOnClose(conn net.Conn) {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = secure.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the gone mark covers what this does not
	}
}

// PoolOf is how many connections the pool of a client has.
func PoolOf(o *redis.Options) int {
	if o.MaxActiveConns > 0 {
		return min(o.PoolSize, o.MaxActiveConns)
	}
	return o.PoolSize
}
