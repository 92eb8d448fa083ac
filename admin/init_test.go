package admin_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// Blank masters belong to no deployment: the error names the command, and Init founds them, with the client's
// settings. A second Init changes nothing.
func TestFounding(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{AppendFsync: "always"})
	c := d.Stranger(harness.RecoveryOptions()...)
	_, err := c.TryLock(background, "job")
	harness.RequireErr(t, err, redlock.ErrNoQuorum, redlock.ErrNotMember, redlock.ErrNeedsInit)
	harness.RequireSays(t, err, "redlock help init", "it belongs to no deployment")
	harness.RequireErr(t, harness.ErrOf(admin.Members(background, c)), redlock.ErrNoQuorum, redlock.ErrNeedsInit)
	plan, err := admin.PlanInit(background, c, 0)
	if err != nil || plan.Does != "found" || plan.Refused != nil || len(plan.Masters) != 3 || !plan.AtLeast.Valid() {
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

// The end of ctx ends an Init that waits for a master, and the error names that one. It can be run
// again.
func TestAnInitWhoseContextEnds(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{AppendFsync: "always"})
	c := d.Stranger(harness.RecoveryOptions()...)
	harness.Must(t, d.Server(1).Pause())
	ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
	defer cancel()
	err := admin.Init(ctx, c, 0)
	harness.RequireErr(t, err, context.DeadlineExceeded)
	harness.RequireSays(t, err, d.Address(1)+": context deadline exceeded")
	harness.Must(t, d.Server(1).Resume())
	harness.Must(t, admin.Init(background, c, 0))
	harness.Must(t, harness.MustTry(t, c, "job").Unlock(background))
}

// What cannot be founded together is refused, with the reason, and nothing is changed.
func TestWhatIsNotFounded(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 5, redisproc.Config{AppendFsync: "always"})
	on := func(masters ...int) *redlock.Client { return clientOn(d, masters) }
	harness.Must(t, admin.Init(background, on(0, 1, 2), 0))
	for claim, x := range map[string]struct {
		client *redlock.Client
		says   string
	}{
		"another deployment's, and blank ones": {on(2, 3, 4), "is a member of deployment"},
		"some of a deployment":                 {on(0, 1), "give these, or change the members"},
	} {
		plan, err := admin.PlanInit(background, x.client, 0)
		harness.Must(t, err)
		for _, err := range []error{plan.Refused, admin.Init(background, x.client, 0)} {
			t.Log(claim)
			harness.RequireErr(t, err, admin.ErrNotFounded)
			harness.RequireSays(t, err, x.says)
		}
	}
	for i := 3; i < 5; i++ {
		if n := d.Raw[i].DBSize(background).Val(); n != 0 {
			t.Errorf("%d keys were written", n)
		}
	}
	harness.Must(t, d.Raw[2].FlushAll(background).Err())
	err := admin.Init(background, on(0, 1, 2), 0)
	harness.RequireErr(t, err, admin.ErrNotFounded)
	harness.RequireSays(t, err, "it comes back by itself")
	d.Masters[4].Die()
	err = admin.Init(background, on(3, 4), 0)
	harness.RequireErr(t, err, redlock.ErrNoQuorum)
	harness.RequireSays(t, err, d.Address(4))
	if d.Raw[3].DBSize(background).Val() != 0 {
		t.Errorf("one does not answer, and the other was changed: %v", err)
	}
	plan, err := admin.PlanInit(background, on(3, 4), script.MaxFloor)
	harness.Must(t, err)
	if plan.Does != "" || plan.Refused == nil || plan.Masters[0].Err != nil || plan.Masters[1].Err == nil || plan.AtLeast != script.MaxFloor {
		t.Errorf("%+v", plan)
	}
}

// Masters that were emptied are founded anew, with tokens above the floor.
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
