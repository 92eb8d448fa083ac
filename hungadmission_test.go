package redlock

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

// While a master is looked into, another one may hang: names that need neither go on.

func TestAMissingCounterBesideAHungMaster(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.founded(recoveryOptions()...)
		must(t, d.raw[0].Del(background, script.KeysOf(DefaultPrefix, "rare", "").Fence).Err())
		must(t, mustTry(t, c, "rare").Unlock(background))
		d.masters[2].freeze()
		defer d.masters[2].thaw()
		held := mustTry(t, c, "held")
		for i := range 80 {
			time.Sleep(100 * time.Millisecond)
			if lock, err := c.TryLock(background, "rare"); err == nil {
				must(t, lock.Unlock(background))
			}
			lock, err := c.TryLock(background, fmt.Sprint("any ", i))
			must(t, err)
			must(t, lock.Unlock(background))
		}
		if !held.Valid() {
			t.Errorf("a hold ended: %v", context.Cause(held.Context()))
		}
		must(t, held.Unlock(background))
	})
}

// A master that is to be admitted answers at once meanwhile that it may not vote.
func TestAMasterIsAdmittedBesideAHungOne(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		c := d.founded(recoveryOptions()...)
		lost := d.masters[0].(embeddedMaster)
		lost.Kill(true)
		must(t, lost.Restart())
		eventually(t, "it is noted that it lost all", func() bool {
			must(t, mustTry(t, c, "some").Unlock(background))
			return strings.HasPrefix(d.raw[0].Get(background, DefaultPrefix+":admitted").Val(), "out")
		})
		d.masters[4].freeze()
		time.Sleep(c.quarantine())
		late := d.client(recoveryOptions()...)
		for i := range 2 {
			r := late.newRound()
			begin := time.Now()
			h := newHold(late, fmt.Sprint("job ", i), "owner", late.config.lock)
			late.masters[0].Submit(&master.Request{Order: h.name, Call: h.acquireCall(h.terms, nowhere), To: r})
			eventually(t, "an answer", func() bool { return r.tally()[0].Heard })
			if took := time.Since(begin); took > late.requestTimeout {
				t.Errorf("it answered after %v: %v", took, r.tally()[0].Err)
			}
			requireErr(t, r.tally()[0].Err, ErrNotAdmitted)
		}
		d.masters[4].thaw()
		eventually(t, "it votes again", func() bool {
			must(t, mustTry(t, late, "some").Unlock(background))
			return strings.HasPrefix(d.raw[0].Get(background, DefaultPrefix+":admitted").Val(), "in")
		})
	})
}
