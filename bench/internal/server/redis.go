// Package server runs the servers of the contenders: Redis masters, with or without a simulated network,
// etcd, ZooKeeper and MariaDB.
package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// Running is a group of servers of one kind.
type Running struct {
	Addrs []string // the argument of the contender's Open
	PIDs  []int
	stop  []func()
}

// First returns the first server alone. Stop of the result stops nothing.
func (r *Running) First() *Running {
	return &Running{Addrs: r.Addrs[:1], PIDs: r.PIDs[:1]}
}

// Stop ends the servers in reverse order of their start.
func (r *Running) Stop() {
	for i := len(r.stop) - 1; i >= 0; i-- {
		r.stop[i]()
	}
	r.stop = nil
}

// CPU returns the CPU time that the servers have used so far.
func (r *Running) CPU() time.Duration {
	var sum time.Duration
	for _, pid := range r.PIDs {
		sum += CPU(pid)
	}
	return sum
}

// CPU returns the CPU time that a process has used so far, including the kernel's, or 0 if the process has
// ended. It reads utime and stime, fields 14 and 15 of a stat line (proc(5)). It counts the fields from the
// last parenthesis, because the name in field 2 may have blanks.
func CPU(pid int) time.Duration {
	const tick = 10 * time.Millisecond // USER_HZ, which is 100 on Linux wherever Go runs
	const state, utime, stime = 3, 14, 15
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= stime-state {
		return 0
	}
	user, _ := strconv.Atoi(string(fields[utime-state]))
	system, _ := strconv.Atoi(string(fields[stime-state]))
	return time.Duration(user+system) * tick
}

// StartRedis starts masters behind a network with the given round-trip time, and founds a deployment of this
// library on them. The caller must call Stop.
func StartRedis(masters int, roundTrip time.Duration, opts ...redlock.Option) (_ *Running, err error) {
	servers, err := redisproc.StartN(masters, redisproc.Config{})
	if err != nil {
		return nil, err
	}
	r := &Running{}
	defer func() {
		if err != nil {
			r.Stop()
		}
	}()
	for _, s := range servers {
		r.stop = append(r.stop, func() { _ = s.Stop() })
		r.Addrs = append(r.Addrs, s.URL())
		r.PIDs = append(r.PIDs, s.PID())
	}
	c, err := redlock.Open(r.Addrs, append([]redlock.Option{redlock.WithRequestTimeout(redisproc.RequestTimeout)}, opts...)...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), StartTimeout)
	defer cancel()
	if err := errors.Join(admin.Init(ctx, c, 0), c.Close()); err != nil || roundTrip == 0 {
		return r, err
	}
	for i, s := range servers {
		addr, stop, err := delay(s.Addr(), roundTrip/2)
		if err != nil {
			return nil, err
		}
		r.stop = append(r.stop, stop)
		r.Addrs[i] = "redis://" + addr
	}
	return r, nil
}
