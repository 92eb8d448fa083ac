package admin_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// The error of a call on blank masters names the command that founds a deployment. Init founds it with the
// client's settings, and a second Init changes nothing.
func TestInit(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{AppendFsync: "always"})
	c := d.Stranger(harness.RecoveryOptions()...)
	_, err := c.TryLock(background, "job")
	harness.RequireErr(t, err, redlock.ErrNoQuorum, redlock.ErrNotMember, redlock.ErrNeedsInit)
	harness.RequireText(t, err, "redlock help init", "it belongs to no deployment")
	harness.RequireErr(t, harness.ErrOf(admin.Members(background, c)), redlock.ErrNoQuorum, redlock.ErrNeedsInit)
	plan, err := admin.PlanInit(background, c, 0)
	if err != nil || plan.Does != "found" || plan.MaxTTL != harness.RecoveryMaxTTL || plan.Refused != nil || len(plan.Masters) != 3 || !plan.AtLeast.Valid() {
		t.Errorf("%+v, %v", plan, err)
	}
	harness.Must(t, admin.Init(background, c, 0))
	harness.Must(t, harness.MustTry(t, c, "job").Unlock(background))
	before := d.Register(0)
	m, err := admin.Members(background, c)
	harness.Must(t, err)
	if m.MaxTTL != harness.RecoveryMaxTTL || m.Drift != limits.DefaultDrift || m.Need != 2 || len(m.Members) != 3 || len(m.Others) != 0 || m.Unfinished {
		t.Errorf("%+v", m)
	}
	for i, is := range m.Members {
		if is.State != admin.MemberVoting || is.Address != d.Address(i) || is.Master != is.Address || is.Err != nil {
			t.Errorf("%+v", is)
		}
	}
	if plan, err := admin.PlanInit(background, c, 0); err != nil || plan.Does != "raise" {
		t.Errorf("%+v, %v", plan, err)
	}
	harness.Must(t, admin.Init(background, d.Stranger(harness.RecoveryOptions()...), 0))
	for _, field := range []string{"deployment", "id", "version", "votes"} {
		if after := d.Register(0); after[field] != before[field] || before[field] == "" {
			t.Errorf("%s was %q and is %q", field, before[field], after[field])
		}
	}
}

// The end of ctx ends an Init that waits for a master. The error names the master, and Init can be repeated.
func TestInitContextEnd(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{AppendFsync: "always"})
	c := d.Stranger(harness.RecoveryOptions()...)
	harness.Must(t, d.Server(1).Pause())
	ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
	defer cancel()
	err := admin.Init(ctx, c, 0)
	harness.RequireErr(t, err, context.DeadlineExceeded)
	harness.RequireText(t, err, d.Address(1)+": context deadline exceeded")
	harness.Must(t, d.Server(1).Resume())
	harness.Must(t, admin.Init(background, c, 0))
	harness.Must(t, harness.MustTry(t, c, "job").Unlock(background))
}

// Masters that cannot form one deployment are refused with the reason, and nothing changes.
func TestInitRefused(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 5, redisproc.Config{AppendFsync: "always"})
	on := func(masters ...int) *redlock.Client { return clientOn(d, masters) }
	harness.Must(t, admin.Init(background, on(0, 1, 2), 0))
	for claim, x := range map[string]struct {
		client *redlock.Client
		want   string
	}{
		"another deployment's, and blank ones": {on(2, 3, 4), "is a member of deployment"},
		"some of a deployment":                 {on(0, 1), "give these, or change the members"},
	} {
		plan, err := admin.PlanInit(background, x.client, 0)
		harness.Must(t, err)
		for _, err := range []error{plan.Refused, admin.Init(background, x.client, 0)} {
			t.Log(claim)
			harness.RequireErr(t, err, admin.ErrNotFounded)
			harness.RequireText(t, err, x.want)
		}
		harness.Must(t, plan.ForceRefused)
	}
	for i := 3; i < 5; i++ {
		if n := d.Raw[i].DBSize(background).Val(); n != 0 {
			t.Errorf("%d keys were written", n)
		}
	}
	harness.Must(t, d.Raw[2].FlushAll(background).Err())
	err := admin.Init(background, on(0, 1, 2), 0)
	harness.RequireErr(t, err, admin.ErrNotFounded)
	harness.RequireText(t, err, "it comes back by itself")
	d.Masters[4].Die()
	err = admin.Init(background, on(3, 4), 0)
	harness.RequireErr(t, err, redlock.ErrNoQuorum)
	harness.RequireText(t, err, d.Address(4))
	if d.Raw[3].DBSize(background).Val() != 0 {
		t.Errorf("one does not answer, and the other was changed: %v", err)
	}
	plan, err := admin.PlanInit(background, on(3, 4), script.MaxFloor)
	harness.Must(t, err)
	if plan.Does != "" || plan.Refused == nil || plan.ForceRefused == nil || plan.Masters[0].Err != nil || plan.Masters[1].Err == nil || plan.AtLeast != script.MaxFloor {
		t.Errorf("%+v", plan)
	}
}

// ForceInit refuses one server under two addresses too, and the plan has that.
func TestInitRefusesServerTwice(t *testing.T) {
	harness.InVirtualTime(t, 2, func(t *testing.T, d *harness.Deployment) {
		d.Masters = append(d.Masters, harness.Named{Master: d.Masters[0], Address: "alias"})
		c := d.Stranger()
		plan, err := admin.PlanInit(background, c, 0)
		harness.Must(t, err)
		for _, err := range []error{plan.Refused, plan.ForceRefused, admin.Init(background, c, 0), admin.ForceInit(background, c, 0)} {
			harness.RequireErr(t, err, admin.ErrNotFounded)
			harness.RequireText(t, err, "alias: it is the same server as "+d.Address(0))
		}
	})
}

// Emptied masters form a new deployment, with tokens above the floor.
func TestForceInit(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		before := harness.MustTry(t, c, "job")
		harness.Must(t, before.Unlock(background))
		for _, r := range d.Raw[:2] {
			harness.Must(t, r.FlushAll(background).Err())
		}
		harness.RequireErr(t, admin.Init(background, d.Client(), 0), admin.ErrNotFounded)
		harness.Must(t, admin.ForceInit(background, d.Client(), before.Token()+1_000_000))
		lock := harness.MustLock(t, c, "job", redlock.WithWait(harness.Patience))
		if lock.Token() <= before.Token()+1_000_000 {
			t.Errorf("token %d after %d", lock.Token(), before.Token())
		}
		harness.Must(t, lock.Unlock(background))
	})
}

// The errors of a lock and of Init have the reason why a server cannot be asked.
func TestInitReportsCause(t *testing.T) {
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
			err := admin.Init(context.Background(), c, 0)
			if !strings.Contains(fmt.Sprint(err), cause) || !strings.Contains(err.Error(), d.Raw[1].Options().Addr) {
				t.Errorf("Init: %v", err)
			}
			if cause != "NOPERM" {
				harness.Must(t, admin.ForceInit(context.Background(), c, 0))
				harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
			}
		})
	}
}

// If the process of an Init dies at any message, the next Init finishes the founding.
func TestInitFinishesInterruptedInit(t *testing.T) {
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
			err := admin.Init(context.Background(), dying, 0)
			if err != nil {
				died.Add(1)
			}
			harness.Must(t, dying.Close())
			c := d.Stranger(harness.RecoveryOptions()...)
			harness.Must(t, admin.Init(context.Background(), c, 0))
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

// Two concurrent Inits make one deployment or none. Another Init then finishes it.
func TestConcurrentInits(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { _ = admin.Init(context.Background(), d.Stranger(harness.RecoveryOptions()...), 0) })
		}
		both.Wait()
		c := d.Stranger(harness.RecoveryOptions()...)
		harness.Must(t, admin.Init(context.Background(), c, 0))
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		for i := range d.Masters {
			if is, one := d.Register(i), d.Register(0); is["version"] != one["version"] || is["deployment"] != one["deployment"] {
				t.Errorf("%v and %v", is, one)
			}
		}
	})
}

// When the first master has accepted the table of an Init, a waiting client sees the table there, and commits it with a
// higher ballot. So the other masters refuse the Init, but it has founded the deployment.
func TestInitBesideWaitingClient(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		waiting := d.Stranger(harness.RecoveryOptions()...)
		_ = harness.MustFail(t, waiting, "job")
		var once sync.Once
		d.Masters[1] = watchedMaster{d.Masters[1], func(p []byte) {
			if bytes.Contains(p, []byte(redis.NewScript(script.FoundSource).Hash())) {
				once.Do(func() {
					harness.Inside(waiting).Members.Kick()
					harness.Eventually(t, "the waiting client can lock", func() bool {
						lock, err := waiting.TryLock(background, "job")
						return err == nil && lock.Unlock(background) == nil
					})
				})
			}
		}}
		c := d.Stranger(harness.RecoveryOptions()...)
		harness.Must(t, admin.Init(background, c, 0))
		harness.Must(t, harness.MustTry(t, c, "other").Unlock(background))
	})
}

// watchedMaster calls sends before a client sends data to the master.
type watchedMaster struct {
	harness.Master
	sends func(p []byte)
}

func (m watchedMaster) Options() *redis.Options {
	return harness.Wrapped(m.Master, func(conn net.Conn) net.Conn { return watchedConn{conn, m.sends} })
}

type watchedConn struct {
	net.Conn
	sends func(p []byte)
}

func (c watchedConn) Write(p []byte) (int, error) {
	c.sends(p)
	return c.Conn.Write(p)
}
