package redlock

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// LAPSE (spec/tokens.pml): a vote that lapsed does not stand for a token, though a
// quorum of the attempt's other votes may still be valid.
func TestOnlyVotesThatStandMakeAnAttemptValid(t *testing.T) {
	const s = int64(time.Second)
	c := &Client{config: defaultConfig(), need: 2, masters: make([]*master, 3)}
	for _, x := range []struct {
		claim  string
		sent   [3]int64
		grants [3]int64
		want   int64 // when the vote that decides was sent
	}{
		{"all stand: the second-latest", [3]int64{1 * s, 2 * s, 3 * s}, [3]int64{5, 5, 5}, 2 * s},
		{"the latest stands lower: it does not count", [3]int64{1 * s, 2 * s, 3 * s}, [3]int64{5, 5, 4}, 1 * s},
		{"the earliest stands lower", [3]int64{1 * s, 2 * s, 3 * s}, [3]int64{4, 5, 5}, 2 * s},
	} {
		h := newHold(c, "job", "owner", c.config.lock)
		votes := make([]vote, 3)
		for i := range votes {
			votes[i] = vote{heard: true, answer: Granted, grant: x.grants[i], sent: instant(x.sent[i]), got: instant(x.sent[i])}
		}
		got := h.count(votes, standings(votes, highestGrant(votes)))
		if want := h.terms.validUntil(instant(x.want)); got != want {
			t.Errorf("%s: valid until %v, want %v", x.claim, time.Duration(got), time.Duration(want))
		}
	}
}

// LEASE (spec/exclusion.pml): an answer that comes when the lease is over does not
// revive it, whether its timer has fired yet or not.
func TestALateAnswerRevivesNothing(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.founded()
		lock := mustTry(t, c, "job", WithTTL(10*time.Second), WithoutWatchdog())
		d.slept.Add(int64(time.Minute)) // the timer knows nothing of it yet
		now := c.now()
		for i := range 3 {
			lock.h.weigh(i, vote{heard: true, answer: Granted, sent: now, got: now, remaining: time.Second}, lock.h.terms, false)
		}
		if lock.Valid() {
			t.Error("a lease that was over is valid again")
		}
		requireErr(t, lock.Unlock(background), ErrExpired)
	})
}

// A hold that a quorum disowned was lost, not expired, whoever notices it first:
// the round that heard it, the timer, or an Unlock between the two.
func TestALostHoldIsNotCalledExpired(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		c := d.founded()
		for _, x := range []struct {
			lost int
			want error
		}{{3, ErrLost}, {2, nil}} {
			lock := mustTry(t, c, fmt.Sprintf("job %d", x.lost), WithoutWatchdog())
			synctest.Wait() // all five have voted
			now := c.now()
			for i := range x.lost {
				lock.h.weigh(i, vote{heard: true, answer: Refused, err: errNotMine, sent: now, got: now}, lock.h.terms, false)
			}
			if err := lock.Unlock(background); err != x.want {
				t.Errorf("%d of 5 said \"not yours\": got %v, want %v", x.lost, err, x.want)
			}
		}
	})
}

// A confirm that finds the grant gone tells nothing of a second copy of the acquire,
// which may have been granted again or may be yet: the release leaves a mark.
func TestAConfirmsNoIsADoubt(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.founded()
		must(t, d.raw[2].IncrBy(background, keysOf(DefaultPrefix, "job", "").fence, 100).Err())
		a := c.prepare("job", c.config.lock, nowhere)
		a.h.send(a.asked, a.call)
		synctest.Wait() // all have voted, 0 and 1 too low
		second := func() error {
			_, err := callIn(batchSource, d.raw[0], a.call)
			return err
		}
		d.drop("job", 0)
		must(t, second())
		d.masters[1].freeze() // so that 0 is heard before the verdict
		time.AfterFunc(10*time.Millisecond, d.masters[1].thaw)
		lock, err := c.conclude(background, a)
		must(t, err)
		must(t, lock.Unlock(background))
		synctest.Wait()
		if got := d.holders("job"); got != "000" {
			t.Errorf("held on %s", got)
		}
		if err := second(); !redis.HasErrorPrefix(err, "GONE") {
			t.Errorf("an acquire that comes after its release is answered %v", err)
		}
	})
}
