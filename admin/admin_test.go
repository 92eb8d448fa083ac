package admin_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testmasters"
)

// A call that cannot have been meant panics, bad input is told before anything is asked, and so is
// a context or a client that is over.
func TestBadInput(t *testing.T) {
	t.Parallel()
	testmasters.Virtual(t, 3, func(t *testing.T, d *testmasters.Deployment) {
		c := d.Client()
		calls := map[string]func(ctx context.Context, c *redlock.Client) error{
			"Init":      func(ctx context.Context, c *redlock.Client) error { return admin.Init(ctx, c, 0) },
			"ForceInit": func(ctx context.Context, c *redlock.Client) error { return admin.ForceInit(ctx, c, 0) },
			"PlanInit":  func(ctx context.Context, c *redlock.Client) error { _, err := admin.PlanInit(ctx, c, 0); return err },
			"Members":   func(ctx context.Context, c *redlock.Client) error { _, err := admin.Members(ctx, c); return err },
			"ChangeMembers": func(ctx context.Context, c *redlock.Client) error {
				return admin.ChangeMembers(ctx, c, admin.ResumeMember("a"), nil)
			},
			"Inspect": func(ctx context.Context, c *redlock.Client) error { _, err := admin.Inspect(ctx, c, "job"); return err },
			"Names":   func(ctx context.Context, c *redlock.Client) error { _, err := admin.Names(ctx, c, 1); return err },
			"ForceUnlock": func(ctx context.Context, c *redlock.Client) error {
				_, err := admin.ForceUnlock(ctx, c, admin.Inspection{Name: "job"})
				return err
			},
		}
		for field, err := range map[string]error{
			"floor":  admin.Init(background, c, script.MaxFloor+1),
			"most":   second(admin.Names(background, c, 0)),
			"change": admin.ChangeMembers(background, c, admin.MemberChange{}, nil),
		} {
			harness.RequireOptionError(t, err, field)
		}
		harness.RequireOptionError(t, admin.ForceInit(background, c, script.MaxFloor+1), "floor")
		harness.RequireOptionError(t, second(admin.PlanInit(background, c, script.MaxFloor+1)), "floor")
		for _, name := range []string{"", strings.Repeat("x", 1025)} {
			harness.RequireOptionError(t, second(admin.Inspect(background, c, name)), "name")
			harness.RequireOptionError(t, second(admin.ForceUnlock(background, c, admin.Inspection{Name: name})), "name")
		}
		over, cancel := context.WithCancel(background)
		cancel()
		closed := d.Client()
		harness.Must(t, closed.Close())
		var none context.Context
		for name, call := range calls {
			if err := call(over, c); !errors.Is(err, context.Canceled) {
				t.Errorf("%s with a context that is over: %v", name, err)
			}
			if err := call(background, closed); !errors.Is(err, redlock.ErrClosed) {
				t.Errorf("%s of a client that is closed: %v", name, err)
			}
			for says, bad := range map[string]func(){
				"nil context":   func() { _ = call(none, c) },
				"New or Open":   func() { _ = call(background, new(redlock.Client)) },
				"the Client is": func() { _ = call(background, nil) },
			} {
				if said, _ := panicOf(bad).(string); !strings.HasPrefix(said, "redlock: ") || !strings.Contains(said, says) {
					t.Errorf("%s: the panic is %q, want %q", name, said, says)
				}
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

func panicOf(f func()) (said any) {
	defer func() { said = recover() }()
	f()
	return nil
}

// A caller that leaves is told so at once, with the cause, and not that there is no quorum.
func TestACallerThatLeavesIsNoLackOfAQuorum(t *testing.T) {
	t.Parallel()
	testmasters.Virtual(t, 3, func(t *testing.T, d *testmasters.Deployment) {
		c := reached(t, d)
		for call, do := range map[string]func(ctx context.Context) error{
			"Inspect":          func(ctx context.Context) error { return second(admin.Inspect(ctx, c, "held")) },
			"inspect, unknown": func(ctx context.Context) error { return second(admin.Inspect(ctx, d.Client(), "held")) },
			"Members":          func(ctx context.Context) error { return second(admin.Members(ctx, c)) },
			"members, unknown": func(ctx context.Context) error { return second(admin.Members(ctx, d.Client())) },
			"change, unknown": func(ctx context.Context) error {
				return admin.ChangeMembers(ctx, d.Client(), admin.AddMember("a"), nil)
			},
			"Names":    func(ctx context.Context) error { return second(admin.Names(ctx, d.Client(), 1)) },
			"Init":     func(ctx context.Context) error { return admin.Init(ctx, d.Client(), 0) },
			"PlanInit": func(ctx context.Context) error { return second(admin.PlanInit(ctx, d.Client(), 0)) },
			"ChangeMembers": func(ctx context.Context) error {
				return admin.ChangeMembers(ctx, c, admin.SuspendMember(address(d, 1)), nil)
			},
		} {
			synctest.Wait()
			for _, s := range d.Embedded[1:] {
				s.Pause()
			}
			stop := errors.New("the user pressed stop")
			ctx, cancel := context.WithCancelCause(background)
			time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
			start := time.Now()
			err := do(ctx)
			if !errors.Is(err, context.Canceled) || !errors.Is(err, stop) || errors.Is(err, redlock.ErrNoQuorum) || strings.Contains(err.Error(), "no quorum") {
				t.Errorf("%s: %v", call, err)
			}
			if took := time.Since(start); took != 100*time.Millisecond {
				t.Errorf("%s took %v", call, took)
			}
			for _, s := range d.Embedded[1:] {
				s.Resume()
			}
			time.Sleep(time.Second)
		}
	})
}
