package redlock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// New returns a Client that locks on the given masters: an odd number of Redis
// servers that fail independently of each other, 5 as a rule. (An even number is
// allowed, but its quorum is no better at surviving failures than that of one
// less.) Sentinel-fronted primaries will do; cluster and ring clients are refused.
//
// The clients stay the caller's: Close does not close them. New derives its own
// from them, with the same pool and hooks and WithRequestTimeout's time-outs, and
// keeps one connection of each pool for itself; to a master half a millisecond away
// or more, up to 8, but no more than half of the pool. Whatever their retry settings,
// nothing is executed twice by them: a request that is lost is an unknown vote.
//
// New does not connect: a master that is down, or is refused because it is a
// replica, the same server as another, or may evict keys, shows in the votes of
// the first call.
//
// Errors: one *OptionError for each bad input, joined; all are ErrBadOption.
func New(masters []redis.UniversalClient, opts ...Option) (*Client, error) {
	cfg, err := newConfig(opts)
	errs := []error{err}
	if len(masters) == 0 || len(masters) > maxMasters {
		errs = append(errs, &OptionError{"masters", fmt.Sprintf("%d clients", len(masters)), fmt.Sprintf("give 1 to %d, 5 as a rule", maxMasters)})
	}
	clients := make([]*redis.Client, len(masters))
	seen := map[string]int{}
	for i, m := range masters {
		field := fmt.Sprintf("masters[%d]", i)
		if m == nil || reflect.ValueOf(m).Kind() == reflect.Pointer && reflect.ValueOf(m).IsNil() {
			errs = append(errs, &OptionError{field, nil, "it must not be nil"})
			continue
		}
		single, ok := clientOf(m, cfg.requestTimeout)
		if !ok {
			errs = append(errs, &OptionError{field, fmt.Sprintf("a %T", m), "give a *redis.Client of one server: cluster and ring clients spread keys over servers, and are no master"})
			continue
		}
		addr := single.Options().Addr
		if j, twice := seen[addr]; twice && addr != sentinelAddr {
			errs = append(errs, &OptionError{field, addr, fmt.Sprintf("it is the same as masters[%d]: give every server once", j)})
		}
		seen[addr] = i
		clients[i] = single
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return newClient(clients, masters, cfg), nil
}

// sentinelAddr is what go-redis gives every failover client for an address; that
// two of them are one server is found out when they connect.
const sentinelAddr = "FailoverClient"

// ears are where the masters call: the caller's own clients, because those that
// go-redis derives from one cannot subscribe.
func newClient(clients []*redis.Client, ears []redis.UniversalClient, cfg config) *Client {
	cfg.observer = cfg.observer.withDefaults()
	c := &Client{
		config:    cfg,
		need:      quorumOf(len(clients)),
		admission: admission{runs: make(map[string]*master)},
	}
	c.born = time.Now()
	c.closed, c.close = context.WithCancelCause(context.Background())
	for i, client := range clients {
		name := client.Options().Addr
		if name == sentinelAddr {
			name = fmt.Sprintf("masters[%d] behind Sentinel", i)
		}
		c.masters = append(c.masters, &master{
			index:      i,
			name:       name,
			redis:      client,
			aside:      client.WithTimeout(admissionTimeout),
			ear:        ears[i],
			wake:       make(chan struct{}, 1),
			stopped:    make(chan struct{}),
			now:        cfg.now,
			prefix:     cfg.prefix,
			maxTTL:     strconv.FormatInt(cfg.maxTTL.Milliseconds(), 10),
			admit:      c.admit,
			readmit:    c.readmit,
			observer:   &c.observer,
			health:     health{connecting: make(chan struct{}, 1)},
			departures: newDepartures(client.Options()),
		})
	}
	c.masterTime.need = c.need
	c.notices = notices{
		channel: cfg.prefix + ":waits:" + uuid.NewString(),
		need:    c.need,
		masters: c.masters,
		called:  c.called,
		rouse:   c.names.rouse,
	}
	for _, m := range c.masters {
		go m.run()
	}
	return c
}

// Open is New for URLs: redis://user:password@host:port/db, rediss:// for TLS,
// unix:///path/to/socket. The clients it makes have no hidden retries, time-outs
// on contexts, and a request timeout on everything; Close closes them. Query
// parameters of the URLs override that, as redis.ParseURL tells. What is special in
// a password is percent-encoded; of a URL that is refused, the error shows nothing.
func Open(urls []string, opts ...Option) (*Client, error) {
	cfg, err := newConfig(opts)
	errs := []error{err}
	clients := make([]redis.UniversalClient, len(urls))
	for i, s := range urls {
		o, err := parseURL(fmt.Sprintf("urls[%d]", i), s)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		clients[i] = redis.NewClient(tuned(o, cfg.requestTimeout))
	}
	if err := errors.Join(errs...); err != nil {
		closeAll(clients)
		return nil, err
	}
	c, err := New(clients, opts...)
	if err != nil {
		closeAll(clients)
		return nil, err
	}
	for _, client := range clients {
		c.owned = append(c.owned, client)
	}
	return c, nil
}

func closeAll(clients []redis.UniversalClient) {
	for _, c := range clients {
		if c != nil {
			_ = c.Close() // nothing was sent on it
		}
	}
}

// tuned sets what the URL left open.
func tuned(o *redis.Options, timeout time.Duration) *redis.Options {
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true
	o.DialerRetries = 1
	o.DialerRetryTimeout = 1 // ns: go-redis sleeps it after the last try as well
	o.DisableIdentity = true
	if o.ReadTimeout == 0 {
		o.ReadTimeout = timeout // also for what New derives no client for: subscriptions
	}
	if o.Protocol == 0 {
		o.Protocol = 2 // nothing is pushed to us; 3 looks for it before each reply
	}
	if o.DialTimeout == 0 {
		o.DialTimeout = timeout
	}
	if o.PoolSize == 0 {
		// A few connections are made. But after as many refused dials go-redis stops
		// dialling by itself, and looks only once a second whether the server is back.
		o.PoolSize = 1024
	}
	dial := redis.NewDialer(o)
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		discardOnClose(conn)
		return bounded(conn), nil
	}
	return o
}

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
