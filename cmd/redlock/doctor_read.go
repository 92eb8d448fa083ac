package main

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/masterurl"
	"github.com/redlock-go/redlock/internal/membership"
)

// reading is what was read of the masters.
type reading struct {
	masters    []masterReading
	members    *redlock.Membership // nil: membersErr tells why
	membersErr error
}

// masterReading is what was read of one master.
type masterReading struct {
	name   string // its address
	err    error  // why it cannot be used at all; then the rest is empty
	info   membership.ServerInfo
	config map[string]string // of durability; what may not be read is not there
	clocks []clockSample     // in order; the first and the last are about a second apart
	pings  []time.Duration
	rights rights
	loads  loads
}

// clockSample is one comparison of a master's clock and this host's.
type clockSample struct {
	at     time.Duration // since the reading began, by this host's monotonic clock
	offset time.Duration // the master's clock less this host's
	err    time.Duration // by which the offset may be wrong: half the round trip
}

const (
	// pingCount is how many pings tell the latency: enough for a median.
	pingCount = 20

	// clockSpan is how long the clocks are compared for. A drift of 1 % makes 10 ms, which is
	// far more than half a round trip as a rule.
	clockSpan = time.Second

	// clockTries is how many samples are taken at a time. The one with the shortest round
	// trip is the most exact.
	clockTries = 5
)

// readAll reads all masters at once.
func readAll(ctx context.Context, client *redlock.Client, urls []string, prefix string) reading {
	r := reading{masters: make([]masterReading, len(urls))}
	var wg sync.WaitGroup
	for i, url := range urls {
		wg.Go(func() { r.masters[i] = readMaster(ctx, url, prefix) })
	}
	wg.Go(func() {
		now, err := client.Members(ctx)
		if r.membersErr = err; err == nil {
			r.members = &now
		}
	})
	wg.Wait()
	return r
}

func readMaster(ctx context.Context, url, prefix string) masterReading {
	m := masterReading{name: addressOf(url), config: map[string]string{}}
	o, err := masterurl.Parse(url)
	if err != nil { // redlock.Open took it a moment ago: a file has changed since
		m.err = err
		return m
	}
	c := master.NewEndpoint(o, operatorTimeout).Redis
	defer c.Close()
	if m.err = c.Ping(ctx).Err(); m.err != nil && !denied(m.err) {
		return m
	}
	m.err = nil
	m.info = membership.ParseInfo(c.Info(ctx).Val()) // empty if it is denied, which the rights tell
	for name := range membership.DurabilitySettings {
		for key, value := range c.ConfigGet(ctx, name).Val() {
			m.config[key] = value
		}
	}
	began := time.Now()
	m.sampleClock(ctx, c, began)
	for range pingCount {
		sent := time.Now()
		if err := c.Ping(ctx).Err(); err != nil && !denied(err) {
			m.err = err
			return m
		}
		m.pings = append(m.pings, time.Since(sent))
	}
	m.rights = readRights(ctx, c, prefix)
	m.loads = readLoads(ctx, c)
	sleep(ctx, clockSpan-time.Since(began))
	m.sampleClock(ctx, c, began)
	return m
}

// sampleClock adds the best of a few samples, or none if the master does not tell its time.
func (m *masterReading) sampleClock(ctx context.Context, c *redis.Client, began time.Time) {
	var best *clockSample
	for range clockTries {
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

// number is one that INFO tells, 0 if it does not.
func (m *masterReading) number(name string) int64 {
	n, _ := strconv.ParseInt(m.info[name], 10, 64)
	return n
}

// version is that of the server, with its kind if that is not Redis.
func (m *masterReading) version() string {
	if v := m.info["valkey_version"]; v != "" {
		return "Valkey " + v
	}
	return "Redis " + cmp.Or(m.info["redis_version"], "of an unknown version")
}
