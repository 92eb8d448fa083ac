package acquire_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// A grant in a late answer to the acquire does not revive a hold that has expired. The grant is
// recorded, because the release needs it.
func TestLateAcquireRevivesNothing(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		d.Masters[2].Freeze()
		a := inside(c).Attempt("job", options())
		a.Send()
		entry, err := a.Conclude(context.Background())
		harness.Must(t, err)
		d.Slept.Add(int64(limits.DefaultTTL))
		now := inside(c).Now()
		a.Asked().Answer(2, script.Vote{Answered: true, Answer: script.Granted, Grant: int64(entry.Hold().Token), Sent: now, Got: now})
		s := entry.Hold().Master(2)
		if s.Until != 0 || !s.Granted {
			t.Errorf("counts until %v, granted: %v; want no vote and a grant", time.Duration(s.Until), s.Granted)
		}
		d.Masters[2].Thaw()
		harness.RequireErr(t, unlock(c, entry), redlock.ErrExpired)
	})
}

// Each master in turn misses a grant. The next acquire raises its counter to the token that the client has seen, so
// that no master has to confirm.
func TestLaggingCounterNeedsNoConfirm(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		for round := range 6 {
			d.Masters[round%3].Freeze()
			other, job := harness.MustTry(t, c, "other"), harness.MustTry(t, c, "job") // sent to the other masters only
			for _, i := range []int{(round + 1) % 3, (round + 2) % 3} {
				if l := harness.LockOn(t, d.Raw[i], "job"); l.Grant != job.Token().String() || l.Token != "" {
					t.Errorf("round %d: master %d granted %s and confirmed %q, the token is %v", round, i, l.Grant, l.Token, job.Token())
				}
			}
			harness.Must(t, errors.Join(job.Unlock(context.Background()), other.Unlock(context.Background())))
			d.Masters[round%3].Thaw()
			harness.Settled(t, c)
		}
	})
}

// After a refused confirm, a second copy of the acquire may still be granted. So the release leaves a
// mark.
func TestRefusedConfirmIsDoubt(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		harness.Must(t, d.Raw[2].IncrBy(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Fence, 100).Err())
		a := inside(c).Attempt("job", options())
		a.Send()
		// When Drop returns, all masters have voted, and masters 0 and 1 have granted too low numbers.
		d.Drop(c, "job", 0)
		harness.Must(t, acquireAgain(d, 0, a.Hold()))
		d.Masters[1].Freeze() // so that the answer of master 0 comes before the verdict
		time.AfterFunc(10*time.Millisecond, d.Masters[1].Thaw)
		entry, err := a.Conclude(context.Background())
		harness.Must(t, err)
		harness.Must(t, unlock(c, entry))
		synctest.Wait()
		if got := d.Holders("job"); got != "000" {
			t.Errorf("held on %s", got)
		}
		if err := acquireAgain(d, 0, a.Hold()); !redis.HasErrorPrefix(err, "GONE") {
			t.Errorf("an acquire that comes after its release is answered %v", err)
		}
	})
}

// acquireAgain sends a second copy of a hold's acquire to a master.
func acquireAgain(d *harness.Deployment, master int, h *lease.Hold) error {
	_, err := harness.CallIn(d.Raw[master], h.AcquireCall(h.Terms(), lease.Place{}))
	return err
}

// A master grants, but then cannot confirm, because it is full or does not answer. The lock is
// acquired as soon as another master grants.
func TestGrantWithoutConfirm(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim    string
		counters [5]int64 // added to the counters
		full     int      // how many masters, from the first on, cannot confirm
		lost     int      // how many of the next masters lose the lock before they are asked to confirm
		silent   int      // how many of the next masters do not answer
		late     int      // how many of the last masters answer late
		want     string   // which masters have the lock, while it is held
	}{
		{"the late one has the token", [5]int64{0, 9, 9, 9, 9}, 1, 0, 0, 2, "11111"},
		{"it confirms", [5]int64{0, 0, 9, 9, 0}, 1, 0, 0, 2, "11111"},
		{"it has the highest number, and all others confirm", [5]int64{0, 3, 3, 9, 9}, 1, 0, 0, 2, "11111"},
		{"one vote is taken back", [5]int64{0, 0, 9, 0, 0}, 0, 1, 0, 2, "01111"},
		{"two votes are taken back, and two more are needed", [5]int64{0, 0, 9, 9, 9}, 0, 2, 0, 2, "00111"},
		{"too many cannot confirm", [5]int64{0, 3, 3, 9, 9}, 3, 0, 0, 2, ""},
		{"one is silent, and the late ones have the token", [5]int64{0, 3, 3, 3, 3}, 0, 0, 1, 2, "11111"},
		{"one is silent, and the late ones confirm", [5]int64{0, 0, 9, 0, 0}, 0, 0, 1, 2, "11111"},
		{"one is silent, and the late ones have the highest number", [5]int64{0, 3, 3, 6, 9}, 0, 0, 1, 2, "11111"},
		{"too many are silent", [5]int64{0, 3, 3, 9, 6}, 0, 0, 3, 2, ""},
	} {
		harness.RunInVirtualTime(t, x.claim, 5, func(t *testing.T, d *harness.Deployment) {
			c := d.Reached()
			top := int64(0)
			for i, more := range x.counters {
				harness.Must(t, d.Raw[i].IncrBy(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Fence, 100*more).Err())
			}
			first := len(d.Masters) - x.late
			harness.All(d.Masters[first:], harness.Master.Freeze)
			a := inside(c).Attempt("job", options())
			a.Send()
			harness.Eventually(t, "a quorum has granted", a.Asked().Won)
			for i, r := range d.Raw[:first] {
				switch {
				case i < x.full:
					harness.Must(t, r.ConfigSet(context.Background(), "maxmemory", "1").Err())
				case i < x.full+x.lost:
					harness.Must(t, r.Del(context.Background(), a.Hold().Keys.Lock).Err())
				case i < x.full+x.lost+x.silent:
					d.Masters[i].Freeze()
				}
			}
			asked := inside(c).Now()
			time.AfterFunc(10*time.Millisecond, func() {
				harness.All(d.Masters[first:], harness.Master.Thaw)
			})
			entry, err := a.Conclude(context.Background())
			took := inside(c).Now().Sub(asked)
			harness.All(d.Masters[:x.silent], harness.Master.Thaw)
			if x.want == "" {
				harness.RequireErr(t, err, redlock.ErrNoQuorum)
				return
			}
			harness.Must(t, err)
			synctest.Wait()
			if took > 50*time.Millisecond && (x.silent == 0 || took > inside(c).RequestTimeout/2) {
				t.Errorf("it took %v", took)
			}
			if got := d.Holders("job"); got != x.want {
				t.Errorf("held on %s, want %s", got, x.want)
			}
			standing := 0
			for _, r := range d.Raw {
				counter, err := r.Get(context.Background(), entry.Hold().Keys.Fence).Int64()
				harness.Must(t, err)
				if top = max(top, counter); counter >= int64(entry.Hold().Token) {
					standing++
				}
			}
			if int64(entry.Hold().Token) != top || standing < 3 {
				t.Errorf("token %v, of which %d masters know; the highest counter is %d", entry.Hold().Token, standing, top)
			}
			harness.Must(t, unlock(c, entry))
		})
	}
}
