package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
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

// fault is something that is done to a master, or to a holder, at a time after the start.
type fault struct {
	at     time.Duration
	do     faultKind
	master int
}

type faultKind int

const (
	killMaster faultKind = iota
	restartMaster
	freezeMaster
	thawMaster
	pauseHolder
)

// roundTime is about how long a round of faults takes.
const roundTime = 3 * time.Second

// plan draws the faults of a performance: in each round two masters fail, as many as five can spare,
// a holder is paused, and the masters come back. The first round has a kill and a freeze.
func plan(rng *rand.Rand, whole time.Duration) []fault {
	rounds := max(1, int(whole/roundTime))
	length := whole / time.Duration(rounds)
	var faults []fault
	for r := range rounds {
		begin := time.Duration(r) * length
		at := func(from, to float64) time.Duration { // a moment between two shares of the round
			return begin + time.Duration((from+(to-from)*rng.Float64())*float64(length))
		}
		two := rng.Perm(masterCount)[:2]
		down, up := killMaster, restartMaster
		if r == 0 || rng.IntN(2) == 0 {
			down, up = freezeMaster, thawMaster
		}
		faults = append(faults,
			fault{at(0.05, 0.10), killMaster, two[0]},
			fault{at(0.10, 0.18), down, two[1]},
			fault{at: at(0.20, 0.28), do: pauseHolder},
			fault{at(0.72, 0.80), restartMaster, two[0]},
			fault{at(0.80, 0.92), up, two[1]})
	}
	slices.SortFunc(faults, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	return faults
}

// inflict does what was planned, until ctx ends.
func (d *demo) inflict(ctx context.Context, faults []fault) {
	for _, f := range faults {
		if !sleep(ctx, f.at-time.Since(d.stage.began)) {
			return
		}
		if err := d.commit(f); err != nil {
			d.stage.fail(fmt.Sprintf("master %d", f.master+1), err)
		}
	}
}

// commit does one fault. What is about to fail is told before, so that nobody wonders why a worker
// waits.
func (d *demo) commit(f fault) error {
	m, who := d.masters[f.master], fmt.Sprintf("master %d", f.master+1)
	switch f.do {
	case killMaster:
		d.stage.count(&d.stage.verdict.MastersKilled, who, "is killed")
		m.kill()
	case freezeMaster:
		d.stage.count(&d.stage.verdict.MastersFrozen, who, "is frozen: it takes requests and does not answer")
		return m.freeze()
	case restartMaster:
		if err := m.restart(); err != nil {
			return err
		}
		d.stage.tell(who, "is back, with its data")
	case thawMaster:
		if err := m.thaw(); err != nil {
			return err
		}
		d.stage.tell(who, "goes on")
	case pauseHolder:
		d.stage.pauseWanted.Store(true)
	}
	return nil
}
