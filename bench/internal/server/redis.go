// Package server runs what the contenders talk to: Redis masters, healthy, at a distance or with
// one of them sick; etcd; ZooKeeper; MariaDB.
package server

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/bench/internal/reexec"
	"github.com/redlock-go/redlock/bench/internal/usage"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// Fault is what the last of the masters suffers from.
type Fault string

// The faults; Healthy is none.
const (
	Healthy Fault = ""
	Dead    Fault = "dead" // killed
	Hung    Fault = "hung" // stopped by SIGSTOP: it accepts connections and does not answer
	Slow    Fault = "slow" // slowRoundTrip away
)

const slowRoundTrip = 50 * time.Millisecond

// RedisConfig says which masters to run.
type RedisConfig struct {
	Masters     int
	AppendFsync string        // as redisproc's
	MaxTTL      time.Duration // of the deployment; 0: the default
	RoundTrip   time.Duration // of the network between; 0: loopback
	Fault       Fault
}

// Running is servers of one kind.
type Running struct {
	Addrs []string // for the contender's Open
	PIDs  []int
	redis []string // addresses of Redis servers that answer
	procs []*redisproc.Server
	stop  []func()
}

// Restart kills one of the masters, and starts it again with what is on its disk.
func (r *Running) Restart(i int) error {
	r.procs[i].Kill()
	err := r.procs[i].Restart()
	r.PIDs[i] = r.procs[i].PID()
	return err
}

// First is the first of the servers alone, whose Stop stops nothing.
func (r *Running) First() *Running {
	return &Running{Addrs: r.Addrs[:1], PIDs: r.PIDs[:1], redis: r.redis[:min(1, len(r.redis))]}
}

// Used is what servers have used so far.
type Used struct {
	CPU     time.Duration
	Scripts time.Duration // in Lua scripts, by their own clocks: what they waited for a CPU is in it
	Calls   int           // of scripts
}

// Sub is what was used since before.
func (u Used) Sub(before Used) Used {
	return Used{u.CPU - before.CPU, u.Scripts - before.Scripts, u.Calls - before.Calls}
}

// Used is what the servers have used so far.
func (r *Running) Used() Used {
	u := Used{CPU: usage.Of(r.PIDs)}
	for _, addr := range r.redis {
		calls, took := scripts(addr)
		u.Calls += calls
		u.Scripts += took
	}
	return u
}

var evalsha = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+),usec=(\d+)`)

// scripts asks past all networks. It gives 0 if there is no answer: a figure is missing then, and
// nothing else.
func scripts(addr string) (calls int, took time.Duration) {
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer func() { _ = c.Close() }()
	return Scripts(c)
}

// Scripts is how many scripts a server has run, and how long they took by its own clock; 0 if it
// does not answer.
func Scripts(c *redis.Client) (calls int, took time.Duration) {
	stats, err := c.Info(context.Background(), "commandstats").Result()
	if err != nil {
		return 0, 0
	}
	if told := evalsha.FindStringSubmatch(stats); told != nil {
		calls, _ = strconv.Atoi(told[1])
		usec, _ := strconv.Atoi(told[2])
		took = time.Duration(usec) * time.Microsecond
	}
	return calls, took
}

// Stop ends the servers, the latest first.
func (r *Running) Stop() {
	for i := len(r.stop) - 1; i >= 0; i-- {
		r.stop[i]()
	}
	r.stop = nil
}

// StartRedis starts the masters, founds a deployment of this library on them, and then lets the
// fault happen. The caller must call Stop.
func StartRedis(cfg RedisConfig) (_ *Running, err error) {
	servers, err := redisproc.StartN(cfg.Masters, redisproc.Config{AppendFsync: cfg.AppendFsync})
	if err != nil {
		return nil, err
	}
	r := &Running{procs: servers}
	defer func() {
		if err != nil {
			r.Stop()
		}
	}()
	var direct []string
	for _, s := range servers {
		r.stop = append(r.stop, func() { _ = s.Stop() })
		r.PIDs = append(r.PIDs, s.PID())
		r.Addrs = append(r.Addrs, s.URL())
		direct = append(direct, s.Addr())
	}
	r.redis = direct
	if cfg.Fault == Dead || cfg.Fault == Hung {
		r.redis = direct[:len(direct)-1]
	}
	if err := found(r.Addrs, cfg.MaxTTL); err != nil {
		return nil, err
	}
	if cfg.RoundTrip > 0 {
		if err := r.distance(direct, cfg.RoundTrip); err != nil {
			return nil, err
		}
	}
	last := servers[len(servers)-1]
	switch cfg.Fault {
	case Healthy:
	case Dead:
		last.Kill()
	case Hung:
		err = last.Pause()
	case Slow:
		err = r.distance(direct, slowRoundTrip, len(servers)-1)
	default:
		err = fmt.Errorf("no such fault: %q", cfg.Fault)
	}
	return r, err
}

// found makes the masters a deployment, with this max ttl unless it is 0.
func found(urls []string, maxTTL time.Duration) error {
	var opts []redlock.Option
	if maxTTL > 0 {
		opts = append(opts, redlock.WithMaxTTL(maxTTL))
	}
	c, err := redlock.Open(urls, opts...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return errors.Join(admin.Init(ctx, c, 0), c.Close())
}

// distance puts a network before some of the targets, or all.
func (r *Running) distance(targets []string, roundTrip time.Duration, only ...int) error {
	if only == nil {
		for i := range targets {
			only = append(only, i)
		}
	}
	order := delayOrder{OneWay: roundTrip / 2}
	for _, i := range only {
		order.Targets = append(order.Targets, targets[i])
	}
	child, err := reexec.Start(reexec.Self, DelayRole)
	if err != nil {
		return err
	}
	r.stop = append(r.stop, func() { _ = child.Stop() })
	var addrs []string
	if err := errors.Join(child.Tell(order), child.Hear(&addrs)); err != nil {
		return err
	}
	for k, i := range only {
		r.Addrs[i] = "redis://" + addrs[k]
	}
	return nil
}
