package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/masterurl"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/script"
)

// reading has the data that the findings are made from.
type reading struct {
	masters    []masterReading
	members    *admin.Membership // nil: membersErr has the reason
	membersErr error
}

// masterReading has the data of one master.
type masterReading struct {
	name   string // its address
	host   string // the result of hostOf
	err    error  // why the master cannot be used at all; then the rest is empty
	info   membership.ServerInfo
	config map[string]string // the settings of durability that the user may read
	report map[string]string // what scripts/report.lua replies; empty if it may not run
	clocks []clockSample     // in order; the first and the last are about a second apart
	pings  []time.Duration
	writes error // why a write was refused; nil: it was accepted
	rights rights
	loads  loads

	password, tls bool // whether its URL has a password, and whether it uses TLS
}

// thisHost is what hostOf returns for Unix sockets and loopback addresses.
const thisHost = "localhost"

// hostOf returns a text that is equal for all addresses of a host. It resolves names, because a host may have several
// names.
func hostOf(ctx context.Context, address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return thisHost
	}
	ctx, cancel := context.WithTimeout(ctx, clockSpan)
	defer cancel()
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return strings.ToLower(host)
	}
	if net.ParseIP(found[0]).IsLoopback() {
		return thisHost
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

// clockSample is one comparison of a master's clock and this host's.
type clockSample struct {
	at     time.Duration // since the reading began, by this host's monotonic clock
	offset time.Duration // the master's clock less this host's
	err    time.Duration // the most by which the offset may be wrong: half the round trip
}

const (
	// pingCount is the number of pings for the latency: enough for a median. A distant master gets as
	// many as fit into clockSpan.
	pingCount = 20

	// clockSpan is how long the clocks are compared. A drift of 1 % adds up to 10 ms in this time. That is usually
	// far more than the error of a sample, which is at most half a round trip.
	clockSpan = time.Second

	// clockTries is how many samples are taken in a row, if they fit into a tenth of clockSpan. The sample
	// with the shortest round trip is the most exact.
	clockTries = 5
)

// readAll reads all masters at once. It calls read() with each master, in the order of the URLs, as soon as this
// master and all masters before it in this order have been read.
func readAll(ctx context.Context, client *redlock.Client, urls []string, prefix string, read func(*masterReading)) reading {
	r := reading{masters: make([]masterReading, len(urls))}
	var all errgroup.Group
	all.Go(func() error {
		now, err := admin.Members(ctx, client)
		if err == nil {
			r.members = &now
		}
		return err
	})
	ended := make([]chan struct{}, len(urls))
	for i, url := range urls {
		ended[i] = make(chan struct{})
		all.Go(func() error {
			r.masters[i] = readMaster(ctx, url, prefix)
			close(ended[i])
			return nil
		})
	}
	for i := range urls {
		<-ended[i]
		read(&r.masters[i])
	}
	r.membersErr = all.Wait()
	return r
}

// readMaster measures pings and clocks. Meanwhile it reads the rest, in few round trips, because the master
// may be far away. A request without an answer fails after operatorTimeout.
func readMaster(ctx context.Context, url, prefix string) masterReading {
	m := masterReading{name: addressOf(url), config: map[string]string{}}
	o, err := masterurl.Parse(url)
	if err != nil { // redlock.Open accepted the URL a moment ago: a file has changed since
		m.err = err
		return m
	}
	m.password, m.tls = o.Password != "", o.TLSConfig != nil
	c := master.NewEndpoint(o, operatorTimeout).Redis
	defer c.Close()
	var both errgroup.Group
	both.Go(func() error { return m.measure(ctx, c.Conn()) })
	both.Go(func() error { m.host = hostOf(ctx, m.name); return nil })
	both.Go(func() error {
		if err := m.readSettings(ctx, c, prefix); err != nil {
			return err
		}
		m.writes = tryWrite(ctx, c, prefix)
		m.rights = readRights(ctx, c, prefix)
		return nil
	})
	m.err = both.Wait()
	return m
}

// readSettings reads INFO, the settings of durability, and scripts/report.lua's reply. A denied part stays empty;
// rightsFindings reports the denial.
func (m *masterReading) readSettings(ctx context.Context, c *redis.Client, prefix string) error {
	p := c.Pipeline()
	info := p.Info(ctx)
	report := redis.NewMapStringStringCmd(ctx, "eval", script.ReportSource, 1, script.RegisterKey(prefix))
	_ = p.Process(ctx, report) // only queues it
	var settings []*redis.MapStringStringCmd
	for name := range membership.DurabilitySettings {
		settings = append(settings, p.ConfigGet(ctx, name))
	}
	_, err := p.Exec(ctx)
	if _, answered := errors.AsType[redis.Error](err); err != nil && !answered {
		return err
	}
	m.info, m.report = membership.ParseInfo(info.Val()), report.Val()
	for _, s := range settings {
		maps.Copy(m.config, s.Val())
	}
	m.loads = readLoads(ctx, c)
	return nil
}

// measure measures pings between two samples of the clock.
func (m *masterReading) measure(ctx context.Context, c *redis.Conn) error {
	defer c.Close()
	if err := c.Ping(ctx).Err(); !answers(err) { // not counted, because the first ping includes the connecting
		return err
	}
	began := time.Now()
	m.sampleClock(ctx, c, began)
	for len(m.pings) < pingCount && (len(m.pings) == 0 || time.Since(began) < clockSpan) {
		sent := time.Now()
		if err := c.Ping(ctx).Err(); !answers(err) {
			return err
		}
		m.pings = append(m.pings, time.Since(sent))
	}
	sleep(ctx, clockSpan-time.Since(began))
	m.sampleClock(ctx, c, began)
	return nil
}

// sampleClock adds the best of a few samples, or none if the master does not return its time.
func (m *masterReading) sampleClock(ctx context.Context, c *redis.Conn, began time.Time) {
	var best *clockSample
	for start, tries := time.Now(), 0; tries == 0 || tries < clockTries && time.Since(start) < clockSpan/10; tries++ {
		sent := time.Now()
		theirs, err := c.Time(ctx).Result()
		half := time.Since(sent) / 2
		if err != nil {
			return
		}
		if best == nil || half < best.err {
			best = &clockSample{sent.Sub(began) + half, theirs.Sub(sent.Add(half)), half}
		}
	}
	m.clocks = append(m.clocks, *best)
}

// number returns a number from INFO, or 0.
func (m *masterReading) number(name string) int64 {
	n, _ := strconv.ParseInt(m.info[name], 10, 64)
	return n
}

// version returns the server's version, with its kind if that is not Redis.
func (m *masterReading) version() string {
	if v := m.info["valkey_version"]; v != "" {
		return "Valkey " + v
	}
	return "Redis " + cmp.Or(m.info["redis_version"], "of an unknown version")
}

// sleep waits for d. It returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
