package redlock

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/announce"
	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/masterurl"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// New returns a Client that locks on the given masters: an odd number of Redis servers that fail
// independently of each other, 5 as a rule. (An even number is allowed, but the lock survives no
// more failures than with one master fewer.) Primaries behind Sentinel are accepted; cluster and
// ring clients are refused.
//
// The clients stay the caller's: Close does not close them, and nothing is sent on them. New takes
// from their options how each server is reached (address, TLS, user, database, OnConnect and such),
// and makes connections of its own: one to each master, or up to 8 if the master is half a
// millisecond or more away; one for notices while a call waits; and a few to learn which masters
// vote. So the clients' pools, retries and hooks have no effect here: a request may take as long as
// WithRequestTimeout, and a lost request is an unknown vote. A master may get a request twice, for
// example from a proxy: the second one changes nothing (docs/PROTOCOL.md). go-redis logs nothing
// about a master that is down: Observer.MasterDown reports it.
//
// If a client was made by redis.NewFailoverClient, New uses the client's own pool instead, because
// go-redis closes that pool's connections when Sentinel names another primary. New uses at most
// half of the pool, but at least 2 connections, and repeats no requests. But when go-redis cannot
// connect for such a client, go-redis tries again, and logs this.
//
// New does not connect, so it does not notice that a master is down, is a replica, may evict keys, or is the same
// server as another master: the votes of the first call show this. New refuses two clients only if their addresses
// certainly lead to one server, as 127.0.0.1:6379 and localhost:6379 do.
//
// Errors: one *OptionError for each bad input, joined; all are ErrBadOption.
func New(masters []redis.UniversalClient, opts ...Option) (*Client, error) {
	cfg, err := newConfig(opts)
	errs := []error{err}
	endpoints := make([]master.Endpoint, len(masters))
	for i, m := range masters {
		if endpoints[i], err = endpointOf(fmt.Sprintf("masters[%d]", i), m, cfg.requestTimeout); err != nil {
			errs = append(errs, err)
		}
	}
	return newClient(endpoints, cfg, errs)
}

// Open is New for URLs: redis://user:password@host:port/db, rediss:// for TLS,
// unix:///path/to/socket. Special characters in a password must be percent-encoded. If a URL is
// refused, the error shows no part of the URL.
//
// Three parameters of rediss:// name files in PEM form. tls_ca has the certificates to trust
// instead of the system's; tls_cert and tls_key have the client's certificate and its key. Open
// reads the files, and each new connection reads them again, so a certificate can be renewed while
// the program runs.
//
// The other parameters are those of redis.ParseURL. The parameters for reaching the server have an
// effect: db, client_name, skip_verify, and dial_timeout (default: the request timeout). The
// parameters for pools, retries, other timeouts and the protocol have no effect.
func Open(urls []string, opts ...Option) (*Client, error) {
	cfg, err := newConfig(opts)
	errs := []error{err}
	endpoints := make([]master.Endpoint, len(urls))
	for i, s := range urls {
		field := fmt.Sprintf("urls[%d]", i)
		if strings.TrimSpace(s) == "" {
			errs = append(errs, &OptionError{field, strconv.Quote(s), "must be a URL such as redis://10.0.0.1:6379"})
			continue
		}
		o, err := masterurl.Parse(s)
		if err != nil {
			errs = append(errs, badURL(field, err))
			continue
		}
		endpoints[i] = master.NewEndpoint(o, cfg.requestTimeout)
	}
	return newClient(endpoints, cfg, errs)
}

// badURL returns the OptionError for an error of masterurl.Parse.
func badURL(field string, err error) error {
	if file, ok := errors.AsType[*masterurl.FileError](err); ok {
		return &OptionError{field + "'s " + file.Parameter, file.File, file.Rule}
	}
	return &OptionError{field, "(not shown, because it may hold a password)", err.Error()}
}

// endpointOf returns an Endpoint for the server of a client that the caller made. It recognizes a
// client of a single server by its method Conn, which cluster and ring clients lack.
func endpointOf(field string, c redis.UniversalClient, timeout time.Duration) (master.Endpoint, error) {
	if c == nil || reflect.ValueOf(c).Kind() == reflect.Pointer && reflect.ValueOf(c).IsNil() {
		return master.Endpoint{}, &OptionError{field, nil, "must not be nil"}
	}
	single, ok := c.(interface {
		WithTimeout(time.Duration) *redis.Client
		Conn() *redis.Conn
	})
	if !ok {
		return master.Endpoint{}, &OptionError{field, fmt.Sprintf("of type %T", c), "must be a *redis.Client of one server: cluster and ring clients spread keys over servers, and are no master"}
	}
	derived := single.WithTimeout(timeout)
	o := derived.Options() // a copy: no other client uses it
	if o.Addr != sentinelAddr {
		return master.NewEndpoint(o, timeout), nil
	}
	if pool := master.PoolOf(o); pool < minPool {
		return master.Endpoint{}, &OptionError{field, fmt.Sprintf("with %d connections", pool), fmt.Sprintf("must have at least %d, by PoolSize, and by MaxActiveConns if that is set: one is kept, and another is needed to learn which masters vote", minPool)}
	}
	o.MaxRetries = 0
	return master.Endpoint{Redis: derived, Subscriber: c}, nil // a derived client of a pool cannot subscribe
}

// minPool is how many connections the pool of a failover client must have at least.
const minPool = 2

// sentinelAddr is the address that go-redis gives every failover client. So two failover clients
// of one server are detected only when the Client connects.
const sentinelAddr = "FailoverClient"

// newClient returns a Client of these endpoints. errs are the faults that the caller found. If
// there are any, or if newClient finds more, it returns all of them, joined, and no Client.
func newClient(endpoints []master.Endpoint, cfg config, errs []error) (*Client, error) {
	if len(endpoints) == 0 || len(endpoints) > quorum.MaxMasters {
		errs = slices.Insert(errs, 0, error(&OptionError{"number of masters", len(endpoints), fmt.Sprintf("must be 1 to %d, 5 as a rule", quorum.MaxMasters)}))
	}
	seen := map[string]int{}
	for i, w := range endpoints {
		if w.Redis == nil {
			continue
		}
		addr := w.Redis.Options().Addr
		server := masterurl.Server(addr)
		if j, twice := seen[server]; twice && addr != sentinelAddr {
			errs = append(errs, &OptionError{fmt.Sprintf("masters[%d]", i), addr, fmt.Sprintf("must not be the same server as masters[%d]", j)})
		}
		seen[server] = i
	}
	if err := printable.Join(errs...); err != nil {
		for _, w := range endpoints {
			if w.Own {
				_ = w.Redis.Close() // nothing was sent on it
			}
		}
		return nil, err
	}

	c := &Client{config: cfg}
	c.members = membership.NewGroup(membership.Config{
		Prefix: cfg.prefix, Timeout: cfg.requestTimeout, MaxTTL: cfg.maxTTL, Drift: cfg.drift, Now: cfg.now, Learned: c.learned, Out: c.notifyOutage,
	})
	c.closed, c.close = context.WithCancelCause(context.Background())
	c.id = identity.NewClient()
	for i, w := range endpoints {
		if w.Own {
			c.owned = append(c.owned, w.Redis)
		}
		name := w.Redis.Options().Addr
		if name == sentinelAddr {
			name = fmt.Sprintf("masters[%d] behind Sentinel", i)
		}
		c.masters = append(c.masters, master.New(master.Config{
			Index:       i,
			Name:        name,
			Endpoint:    w,
			Now:         cfg.now,
			Register:    script.RegisterKey(cfg.prefix),
			SideTimeout: membership.Timeout,
			Gate:        c.members,
			Up: func() {
				c.announcer.Announce(i)
				c.observer.MasterUp(MasterStatus{Master: name})
			},
			Down: func(err error) {
				c.members.Kick()
				c.observer.MasterDown(MasterStatus{name, printable.Error(err)})
			},
			Refuses: func() { c.announcer.AnnounceSoon(i) },
			Called:  c.callNotifier(name),
			GoOn:    func(lockKey string) { c.locks.GoOn(i, lockKey) },
		}))
	}
	c.members.SetMasters(c.masters)
	c.announcer = announce.New(announce.Config{Masters: c.masters, Key: script.ClientKey(cfg.prefix, c.id), Process: identity.Of(cfg.name), Timeout: cfg.requestTimeout, Closed: c.closed})
	c.asker = &ask.Asker{Masters: c.masters, Members: c.members, Now: cfg.now, RequestTimeout: cfg.requestTimeout, Closed: c.closed}
	c.locks = acquire.New(acquire.Config{
		Asker: c.asker, Prefix: cfg.prefix, ID: c.id, Resolve: c.resolve,
		Begin: func() (done func(), open bool) { return c.calls.Done, c.begin() },
	})
	c.holds = c.locks.Holds
	for _, m := range c.masters {
		m.Start()
	}
	return c, nil
}
