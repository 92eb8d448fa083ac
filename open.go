package redlock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// New returns a Client that locks on the given masters: an odd number of Redis
// servers that fail independently of each other, 5 as a rule. (An even number is
// allowed, but its quorum is no better at surviving failures than that of one
// less.) Sentinel-fronted primaries will do; cluster and ring clients are refused.
//
// The clients stay the caller's: Close does not close them, and nothing is sent on
// them. New takes from their options how each server is reached (address, TLS, user,
// database, OnConnect and such), and makes connections of its own: one to each
// master, to one half a millisecond away or more up to 8, one for notices while
// somebody waits, and a few for an admission. So the clients' pools, retries and
// hooks do not matter here: a request has WithRequestTimeout, and one that is lost
// is an unknown vote, never executed twice. go-redis logs nothing about a master
// that is down: Observer.MasterDown tells.
//
// A client made by redis.NewFailoverClient lends its pool instead, because go-redis
// closes that pool's connections when Sentinel names another primary. It is used
// without retries, and up to half of it, but at least 2 connections. go-redis tries
// again, and logs, when it cannot connect for it.
//
// New does not connect: a master that is down, or is refused because it is a
// replica, the same server as another, or may evict keys, shows in the votes of
// the first call.
//
// Errors: one *OptionError for each bad input, joined; all are ErrBadOption.
func New(masters []redis.UniversalClient, opts ...Option) (*Client, error) {
	cfg, err := newConfig(opts)
	errs := []error{err}
	ways := make([]way, len(masters))
	for i, m := range masters {
		if ways[i], err = wayOf(fmt.Sprintf("masters[%d]", i), m, cfg.requestTimeout); err != nil {
			errs = append(errs, err)
		}
	}
	return newClient(ways, cfg, errs)
}

// Open is New for URLs: redis://user:password@host:port/db, rediss:// for TLS,
// unix:///path/to/socket. What is special in a password is percent-encoded; of a
// URL that is refused, the error shows nothing.
//
// Query parameters are those of redis.ParseURL. Those that tell how the server is
// reached count: db, client_name, skip_verify and dial_timeout, which is the request
// timeout unless it is given. Those about pools, retries, other time-outs and the
// protocol have no effect.
func Open(urls []string, opts ...Option) (*Client, error) {
	cfg, err := newConfig(opts)
	errs := []error{err}
	ways := make([]way, len(urls))
	for i, s := range urls {
		o, err := parseURL(fmt.Sprintf("urls[%d]", i), s)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		ways[i] = ownWay(o, cfg.requestTimeout)
	}
	return newClient(ways, cfg, errs)
}

// way is how a master is reached.
type way struct {
	redis *redis.Client         // for requests; nil if the master was refused
	ear   redis.UniversalClient // for notices
	own   bool                  // Close closes it
}

// ownWay makes a way on connections of our own.
func ownWay(o *redis.Options, timeout time.Duration) way {
	c := redis.NewClient(tuned(o, timeout))
	return way{redis: c, ear: c, own: true}
}

// wayOf makes a way to the server of a client that the caller brought. Only
// clients of a single server can lend one connection of their pool, which is what
// tells them from cluster and ring clients without naming their types.
func wayOf(field string, c redis.UniversalClient, timeout time.Duration) (way, error) {
	if c == nil || reflect.ValueOf(c).Kind() == reflect.Pointer && reflect.ValueOf(c).IsNil() {
		return way{}, &OptionError{field, nil, "it must not be nil"}
	}
	single, ok := c.(interface {
		WithTimeout(time.Duration) *redis.Client
		Conn() *redis.Conn
	})
	if !ok {
		return way{}, &OptionError{field, fmt.Sprintf("a %T", c), "give a *redis.Client of one server: cluster and ring clients spread keys over servers, and are no master"}
	}
	derived := single.WithTimeout(timeout)
	o := derived.Options() // its own, no other client's
	if o.Addr != sentinelAddr {
		return ownWay(o, timeout), nil
	}
	if pool := poolOf(o); pool < minPool {
		return way{}, &OptionError{field, fmt.Sprintf("a client with %d connections", pool), fmt.Sprintf("its PoolSize, and MaxActiveConns if that is set, must be at least %d: one is kept, and another is needed to admit the master", minPool)}
	}
	o.MaxRetries = 0
	return way{redis: derived, ear: c}, nil // a derived client of a pool cannot subscribe
}

// minPool is how many connections a pool that is shared must have.
const minPool = 2

// poolOf is how many connections the pool of a client has.
func poolOf(o *redis.Options) int {
	if o.MaxActiveConns > 0 {
		return min(o.PoolSize, o.MaxActiveConns)
	}
	return o.PoolSize
}

// sentinelAddr is what go-redis gives every failover client for an address; that
// two of them are one server is found out when they connect.
const sentinelAddr = "FailoverClient"

// newClient makes a Client of the ways to its masters, or reports errs, which are
// the faults that were found, and its own.
func newClient(ways []way, cfg config, errs []error) (*Client, error) {
	if len(ways) == 0 || len(ways) > maxMasters {
		errs = slices.Insert(errs, 0, error(&OptionError{"masters", fmt.Sprint(len(ways)), fmt.Sprintf("give 1 to %d, 5 as a rule", maxMasters)}))
	}
	seen := map[string]int{}
	for i, w := range ways {
		if w.redis == nil {
			continue
		}
		addr := w.redis.Options().Addr
		if j, twice := seen[addr]; twice && addr != sentinelAddr {
			errs = append(errs, &OptionError{fmt.Sprintf("masters[%d]", i), addr, fmt.Sprintf("it is the same as masters[%d]: give every server once", j)})
		}
		seen[addr] = i
	}
	if err := errors.Join(errs...); err != nil {
		for _, w := range ways {
			if w.own {
				_ = w.redis.Close() // nothing was sent on it
			}
		}
		return nil, err
	}

	cfg.observer = cfg.observer.withDefaults()
	c := &Client{
		config: cfg,
		need:   quorumOf(len(ways)),
	}
	c.admission = newAdmission(admissionConfig{prefix: cfg.prefix, need: c.need, quarantine: cfg.quarantine(), now: cfg.now})
	c.born = time.Now()
	c.closed, c.close = context.WithCancelCause(context.Background())
	for i, w := range ways {
		if w.own {
			c.owned = append(c.owned, w.redis)
		}
		name := w.redis.Options().Addr
		if name == sentinelAddr {
			name = fmt.Sprintf("masters[%d] behind Sentinel", i)
		}
		c.masters = append(c.masters, newMaster(masterConfig{
			Index:       i,
			Name:        name,
			Way:         w,
			Now:         cfg.now,
			MaxTTL:      cfg.maxTTL,
			SideTimeout: admissionTimeout,
			Gate:        c.admission,
			Up:          func() { c.observer.MasterUp(name) },
			Down:        func(err error) { c.observer.MasterDown(name, readable(err)) },
		}))
	}
	c.admission.masters = c.masters
	c.masterTime.need = c.need
	c.notices = notices{
		channel: cfg.prefix + ":waits:" + uuid.NewString(),
		need:    c.need,
		masters: c.masters,
		called:  c.called,
		rouse:   c.names.rouse,
	}
	for _, m := range c.masters {
		m.start()
	}
	return c, nil
}

// poolSize is enough for the links, an admission and a look into lost counters.
const poolSize = 2 * maxLinks

// tuned makes of what tells how a server is reached the options of a client that
// does nothing by itself: it does not retry, keep idle connections or listen to
// what nobody asked for, it keeps to the time-outs, and logs nothing.
func tuned(o *redis.Options, timeout time.Duration) *redis.Options {
	o.MaxRetries = -1
	o.ReadTimeout, o.WriteTimeout = timeout, timeout
	o.ContextTimeoutEnabled = true
	if o.DialTimeout == 0 {
		o.DialTimeout = timeout
	}
	o.PoolSize, o.MaxConcurrentDials = poolSize, 0
	o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns, o.PoolTimeout = 0, 0, 0, 0
	o.Protocol = 2 // nothing is pushed to us; 3 looks for it before each reply
	o.PushNotificationProcessor = nil
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.DisableIdentity = true
	dial := o.Dialer
	if dial == nil {
		dial = redis.NewDialer(o)
	}
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return refusedConn{&dialError{err}}, nil
		}
		discardOnClose(conn)
		return bounded(conn), nil
	}
	return o
}

// refusedConn stands for a connection that could not be made. It fails when it is
// used. When a dial fails, go-redis logs that, pauses, dials again, and after a
// while does so only once a second, refusing all by itself meanwhile. There are no
// settings against most of that.
type refusedConn struct{ err error }

func (c refusedConn) Read([]byte) (int, error)       { return 0, c.err }
func (c refusedConn) Write([]byte) (int, error)      { return 0, c.err }
func (refusedConn) Close() error                     { return nil }
func (refusedConn) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (refusedConn) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (refusedConn) SetDeadline(time.Time) error      { return nil }
func (refusedConn) SetReadDeadline(time.Time) error  { return nil }
func (refusedConn) SetWriteDeadline(time.Time) error { return nil }

// dialError wraps the error of a dial, because go-redis unwraps once what it gets
// while it sets a connection up.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// discardOnClose makes closing the connection throw away what the kernel has not
// sent yet. A connection is only closed in the middle of something when a request
// timed out; without this, its bytes would go on being resent for minutes, and
// an acquire could arrive long after its release.
func discardOnClose(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the gone mark covers what this does not
	}
}
