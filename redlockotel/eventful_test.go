package redlockotel_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/testmasters"
	"github.com/redlock-go/redlock/redlockotel"
)

// eventful lets a client with an observer of these options meet all that the dashboard and the alerts are about: a refusal,
// renewals, a clock that jumps, a master that lost its data, masters that are killed, renewals that fail, losses, and calls
// without a quorum. It calls atRest while the client has its holds and nothing has happened to them, and afterwards at the end.
func eventful(t *testing.T, opts []redlockotel.Option, atRest, afterwards func(*testing.T, *prometheus.Registry)) {
	t.Helper()
	testmasters.Virtual(t, 3, func(t *testing.T, d *testmasters.Deployment) {
		d.Addresses = []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"}
		o, registry := exporting(t, opts...)
		c := d.Client(redlock.WithObserver(o))
		lock, err := c.Lock(t.Context(), "job", redlock.WithTTL(30*time.Second))
		must(t, err)
		reading, err := c.RLock(t.Context(), "rates")
		must(t, err)
		synctest.Wait()
		atRest(t, registry)

		_, err = c.TryLock(t.Context(), "job")
		requireErr(t, err, redlock.ErrHeld)
		d.Embedded[0].SetClock(5 * time.Second)
		time.Sleep(15 * time.Second) // a renewal
		d.Embedded[1].Kill(true)
		must(t, d.Embedded[1].Restart())
		time.Sleep(15 * time.Second)
		d.Embedded[1].Kill(false)
		d.Embedded[2].Kill(false)
		<-lock.Context().Done()
		<-reading.Context().Done()
		time.Sleep(time.Minute) // the master that is left has the lock no more
		_, err = c.TryLock(t.Context(), "job")
		requireErr(t, err, redlock.ErrNoQuorum)
		requireErr(t, lock.Unlock(t.Context()), redlock.ErrExpired)
		requireErr(t, reading.Unlock(t.Context()), redlock.ErrExpired)
		synctest.Wait()
		afterwards(t, registry)
	})
}
