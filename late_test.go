package redlock

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock/fence"
)

// What comes late: answers, requests to masters that are gone, an Unlock beside
// Close.

func TestExtendThatComesTooLate(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.founded(WithRequestTimeout(2 * time.Second))
		lock := mustTry(t, c, "job", WithTTL(3*time.Second), WithLockDelay(10*time.Second), WithoutWatchdog())
		time.Sleep(2 * time.Second)
		for _, m := range d.masters {
			m.freeze()
		}
		go func() {
			time.Sleep(1500 * time.Millisecond) // the lease is over, and the masters keep the lock
			for _, m := range d.masters {
				m.thaw()
			}
		}()
		requireErr(t, lock.Extend(background, 3*time.Second), ErrExpired)
		if lock.Valid() {
			t.Error("it is valid again")
		}
		requireErr(t, lock.Unlock(background), ErrExpired)
	})
}

// What must arrive is tried for as long as it is of use, and not for as long as
// the master is gone.
func TestWhatADeadMasterWasToBeToldEnds(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		c := d.founded()
		d.masters[0].die()
		dead := c.masters[0]
		leave := c.leaveRequest("job")
		leave.keep = c.now().add(lineTTL)
		wanted := c.leaveRequest("wanted")
		wanted.keep, wanted.moot = leave.keep, func(int) bool { return true }
		dead.submit(&leave)
		kept := func() int {
			dead.mu.Lock()
			defer dead.mu.Unlock()
			return len(dead.queue) + len(dead.again)
		}
		eventually(t, "kept", func() bool { return kept() == 1 })
		dead.submit(&wanted)
		time.Sleep(lineTTL / 2)
		synctest.Wait()
		if n := kept(); n != 1 {
			t.Errorf("%d requests are kept, want the one that is of use", n)
		}
		time.Sleep(lineTTL)
		synctest.Wait()
		if n := kept(); n != 0 {
			t.Errorf("%d requests are kept for ever", n)
		}
	})
}

// Close lets an Unlock that is under way finish.
func TestUnlockBesideClose(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.founded()
		lock := mustTry(t, c, "job")
		for _, m := range d.masters {
			m.freeze()
		}
		var closing sync.WaitGroup
		closing.Go(func() {
			time.Sleep(10 * time.Millisecond)
			_ = c.Close()
		})
		closing.Go(func() {
			time.Sleep(20 * time.Millisecond)
			for _, m := range d.masters {
				m.thaw()
			}
		})
		must(t, lock.Unlock(background))
		closing.Wait()
	})
}

// An Unlock that has ended the hold, and has not sent the release yet: it gets the
// masters' answers.
func TestCloseWaitsForTheReleaseOfAnUnlock(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.founded(WithObserver(Observer{Ended: func(string, fence.Token, error) { time.Sleep(time.Second) }}))
		lock := mustTry(t, c, "job")
		synctest.Wait() // all have voted
		var unlocking sync.WaitGroup
		unlocking.Go(func() { must(t, lock.Unlock(background)) })
		time.Sleep(10 * time.Millisecond)
		must(t, c.Close())
		unlocking.Wait()
		if got := d.holders("job"); got != "000" {
			t.Errorf("held on %s", got)
		}
	})
}

// A repair is under way until it is answered itself: an older extend that was
// dropped in the queue says nothing of it.
func TestAnotherRoundsAnswerEndsNoRepair(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.founded()
		lock := mustTry(t, c, "job", WithoutWatchdog())
		synctest.Wait()
		h, now := lock.h, c.now()
		h.weigh(0, vote{heard: true, answer: Refused, err: errNotMine, sent: now, got: now}, h.terms, false)
		h.mu.Lock()
		h.standing[0].repairs++
		h.mu.Unlock()
		h.weigh(0, vote{heard: true, answer: Refused, err: errNotSent}, h.terms, false)
		if h.absent(0) {
			t.Error("a master that is being sent a repair is taken for one that will not have the lock")
		}
		v := h.weigh(0, vote{heard: true, answer: Granted, sent: now, got: now}, h.terms, true)
		if v.answer == Granted || !h.granted(0) {
			t.Errorf("the repair counts as %v; the lock stands there: %v", v, h.granted(0))
		}
		must(t, lock.Unlock(background))
	})
}

// A master that turns out not to have the lock need not be asked to free it, and
// counts as one that has.
func TestAReleaseThatIsNotNeededIsAYes(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.founded()
		h := newHold(c, "job", "owner", c.config.lock)
		h.standing[0] = standing{heard: true}
		r := c.newRound()
		release := request{name: "job", script: releaseScript, line: h.releaseLine(0, 0, nowhere), to: r, keep: c.now().add(time.Second), frees: h}
		if release.begin(0, c.now()) {
			t.Error("it is sent")
		}
		if v := r.tally()[0]; !v.heard || v.answer != Granted {
			t.Errorf("it counts as %v", v)
		}
	})
}
