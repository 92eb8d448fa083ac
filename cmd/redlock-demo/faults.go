package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// master is a master that the demo can do things to. It keeps its data over a kill.
type master struct {
	options      *redis.Options
	kill, stop   func()
	restart      func() error
	freeze, thaw func() error
}

func startEmbedded() ([]master, error) {
	var masters []master
	for range masterCount {
		s := embedded.New()
		masters = append(masters, master{
			options: s.Options(),
			kill:    func() { s.Kill(false) }, stop: s.Close,
			restart: s.Restart,
			freeze:  func() error { s.Pause(); return nil }, thaw: func() error { s.Resume(); return nil },
		})
	}
	return masters, nil
}

// startReal starts redis-server processes that forget nothing of what they have answered.
func startReal() ([]master, error) {
	servers, err := redisproc.StartN(masterCount, redisproc.Config{AppendFsync: "always"})
	if err != nil {
		return nil, err
	}
	var masters []master
	for _, s := range servers {
		masters = append(masters, master{
			options: &redis.Options{
				Addr:                  s.Addr(),
				Protocol:              2,
				MaxRetries:            -1,
				DialerRetries:         1,
				ContextTimeoutEnabled: true,
				DisableIdentity:       true,
				DialTimeout:           requestTimeout,
			},
			kill: s.Kill, stop: func() { _ = s.Stop() }, // what may be left is a temporary folder
			restart: s.Restart,
			freeze:  s.Pause, thaw: s.Resume,
		})
	}
	return masters, nil
}

// roundTime is about how long a round of faults takes.
const roundTime = 3 * time.Second

// inflict does the same in each round, until ctx ends: two masters fail, as many as five can spare, a
// holder is paused, and the masters come back. What is about to fail is told before, so that nobody
// wonders why a worker waits.
func (d *demo) inflict(ctx context.Context, whole time.Duration) {
	rounds := max(1, int(whole/roundTime))
	length := whole / time.Duration(rounds)
	v := &d.stage.verdict
	for r := range rounds {
		first, second := 2*r%masterCount, (2*r+1)%masterCount
		one, two := d.masters[first], d.masters[second]
		for _, fault := range []struct {
			at     float64 // of the round
			master int
			count  *int
			says   string
			do     func() error
		}{
			{.08, first, &v.MastersKilled, "is killed", func() error { one.kill(); return nil }},
			{.14, second, &v.MastersFrozen, "is frozen: it takes requests and does not answer", two.freeze},
			{.24, 0, nil, "", func() error { d.stage.pauseWanted.Store(true); return nil }},
			{.75, first, nil, "comes back, with its data", one.restart},
			{.85, second, nil, "goes on", two.thaw},
		} {
			at := time.Duration((float64(r) + fault.at) * float64(length))
			if !sleep(ctx, at-time.Since(d.stage.began)) {
				return
			}
			who := fmt.Sprintf("master %d", fault.master+1)
			switch {
			case fault.count != nil:
				d.stage.count(fault.count, who, fault.says)
			case fault.says != "":
				d.stage.tell(who, fault.says)
			}
			if err := fault.do(); err != nil {
				d.stage.fail(who, err)
			}
		}
	}
}
