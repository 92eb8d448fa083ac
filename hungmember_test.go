package redlock

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// While a member lost its data and comes back, another one may hang: what needs neither
// goes on, at its usual pace.
func TestAMemberComesBackBesideAHungOne(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		c := d.reached(recoveryOptions()...)
		held := mustTry(t, c, "held")
		before := d.register(0)["id"]
		d.masters[4].freeze()
		defer d.masters[4].thaw()
		lost := d.masters[0].(embeddedMaster)
		lost.Kill(true)
		must(t, lost.Restart())
		slowest := time.Duration(0)
		back := func() bool { is := d.register(0); return is["votes"] != "" && is["id"] != before }
		for begin, i := time.Now(), 0; !back(); i++ {
			time.Sleep(20 * time.Millisecond)
			at := time.Now()
			lock, err := c.TryLock(background, fmt.Sprint("any ", i))
			must(t, err)
			must(t, lock.Unlock(background))
			slowest = max(slowest, time.Since(at))
			if time.Since(begin) > patience {
				t.Fatalf("it is not back: %v", d.register(0))
			}
		}
		if slowest > c.requestTimeout {
			t.Errorf("a lock took %v", slowest)
		}
		if !held.Valid() {
			t.Errorf("a hold ended: %v", context.Cause(held.Context()))
		}
		must(t, held.Unlock(background))
	})
}

// A client that waits for a member which hangs, to bring it back, learns of changes meanwhile.
func TestAClientThatBringsBackAMemberLearnsOfChanges(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		c := d.reached(recoveryOptions()...)
		operator := d.client(recoveryOptions()...)
		lost := d.masters[0].(embeddedMaster)
		lost.Kill(true)
		must(t, lost.Restart())
		for d.register(0)["table"] == "" { // until it is a new member
			if lock, err := c.TryLock(background, "any"); err == nil {
				must(t, lock.Unlock(background))
			}
			time.Sleep(time.Millisecond)
		}
		lost.freeze()
		defer lost.thaw()
		time.Sleep(300 * time.Millisecond) // clients act after 200 ms at the latest
		must(t, operator.ChangeMembers(background, SuspendMember(d.address(4)), nil))
		begin := time.Now()
		lock, err := c.TryLock(background, "job")
		must(t, err)
		if took := time.Since(begin); took > 100*time.Millisecond {
			t.Errorf("the change was learned of after %v", took)
		}
		must(t, lock.Unlock(background))
	})
}
