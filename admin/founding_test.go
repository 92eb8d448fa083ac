package admin_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// Why a server cannot be asked comes through, in a lock's error and in Init's.
func TestWhyAMasterCannotBeFounded(t *testing.T) {
	t.Parallel()
	for cause, spoil := range map[string]func(r *redis.Client) error{
		"NOPERM": func(r *redis.Client) error {
			return r.Do(context.Background(), "acl", "setuser", "default", "-eval", "-evalsha").Err()
		},
		"another type": func(r *redis.Client) error {
			return r.Set(context.Background(), script.RegisterKey(limits.DefaultPrefix), "words", 0).Err()
		},
		"keys are of format": func(r *redis.Client) error {
			return r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "deployment", "d", "id", "one", "version", "1", "table", `{"format":"7"}`).Err()
		},
		"cannot be read": func(r *redis.Client) error {
			return r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "deployment", "d", "id", "one", "version", "1", "table", "words").Err()
		},
	} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			d := harness.Processes(t, 3, redisproc.Config{})
			harness.Must(t, spoil(d.Raw[1]))
			c := d.Stranger(harness.RecoveryOptions()...)
			harness.RequireErr(t, harness.MustFail(t, c, "job"), redlock.ErrNoQuorum)
			err := harness.Found(context.Background(), c, 0)
			if !strings.Contains(fmt.Sprint(err), cause) || !strings.Contains(err.Error(), d.Raw[1].Options().Addr) {
				t.Errorf("Init: %v", err)
			}
			if cause != "NOPERM" {
				harness.Must(t, harness.FoundAnew(context.Background(), c, 0))
				harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
			}
		})
	}
}

// An Init whose process dies at any message is finished by the next one.
func TestAnInitThatDiesIsFinished(t *testing.T) {
	t.Parallel()
	var died atomic.Int64
	t.Cleanup(func() {
		if n := died.Load(); n < 4 || n == 12 {
			t.Errorf("%d of 12 died", n)
		}
	})
	for at := int64(0); at < 48; at += 4 {
		harness.RunInVirtualTime(t, fmt.Sprint("at message ", at), 3, func(t *testing.T, d *harness.Deployment) {
			dying, _ := d.Mortal(at, harness.RecoveryOptions()...)
			err := harness.Found(context.Background(), dying, 0)
			if err != nil {
				died.Add(1)
			}
			harness.Must(t, dying.Close())
			c := d.Stranger(harness.RecoveryOptions()...)
			harness.Must(t, harness.Found(context.Background(), c, 0))
			harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
			one := d.Register(0)
			for i := range d.Masters {
				if is := d.Register(i); is["version"] != one["version"] || is["deployment"] != one["deployment"] || is["votes"] == "" || is["claim"] != "" {
					t.Errorf("after %v: %v", err, is)
				}
			}
		})
	}
}

// Two Inits at once found one deployment, or none; one more finishes.
func TestTwoInitsAtOnce(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { _ = harness.Found(context.Background(), d.Stranger(harness.RecoveryOptions()...), 0) })
		}
		both.Wait()
		c := d.Stranger(harness.RecoveryOptions()...)
		harness.Must(t, harness.Found(context.Background(), c, 0))
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		for i := range d.Masters {
			if is, one := d.Register(i), d.Register(0); is["version"] != one["version"] || is["deployment"] != one["deployment"] {
				t.Errorf("%v and %v", is, one)
			}
		}
	})
}
