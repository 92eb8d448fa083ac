package main

import (
	"context"
	"fmt"
	"time"
)

// roundTime is about how long one series of faults takes.
const roundTime = 3 * time.Second

// inflict repeats a series of faults for the given time, or until ctx ends. In each series two masters fail, a holder
// is paused, and the masters come back. The other three masters are still a majority. A line announces each fault, so
// that readers see why a worker waits.
func (d *demo) inflict(ctx context.Context, whole time.Duration) {
	rounds := max(1, int(whole/roundTime))
	length := whole / time.Duration(rounds)
	v := &d.stage.verdict
	for r := range rounds {
		first, second := 2*r%masterCount, (2*r+1)%masterCount
		one, two := d.masters[first], d.masters[second]
		for _, fault := range []struct {
			at     float64 // when, as a share of the series
			master int
			count  *int
			text   string
			do     func() error
		}{
			{.08, first, &v.MastersKilled, "is killed", func() error { one.Kill(false); return nil }},
			{.14, second, &v.MastersFrozen, "is frozen: it takes requests and does not answer", func() error { two.Pause(); return nil }},
			{.24, 0, nil, "", func() error { d.stage.pauseWanted.Store(true); return nil }},
			{.75, first, nil, "comes back, with its data", one.Restart},
			{.85, second, nil, "goes on", func() error { two.Resume(); return nil }},
		} {
			at := time.Duration((float64(r) + fault.at) * float64(length))
			if !sleep(ctx, at-time.Since(d.stage.began)) {
				return
			}
			actor := fmt.Sprintf("master %d", fault.master+1)
			switch {
			case fault.count != nil:
				d.stage.count(fault.count, actor, fault.text)
			case fault.text != "":
				d.stage.report(actor, fault.text)
			}
			if err := fault.do(); err != nil {
				d.stage.fail(actor, err)
			}
		}
	}
}
