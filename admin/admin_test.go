package admin_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// calls are the functions of the package, by name.
var calls = map[string]func(ctx context.Context, c *redlock.Client) error{
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

// Misuse panics. Bad input, an ended context or a closed client is reported before any request.
func TestBadInput(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Client()
		for field, err := range map[string]error{
			"floor":  admin.Init(background, c, script.MaxFloor+1),
			"most":   harness.ErrOf(admin.Names(background, c, 0)),
			"change": admin.ChangeMembers(background, c, admin.MemberChange{}, nil),
		} {
			harness.RequireOptionError(t, err, field)
		}
		harness.RequireOptionError(t, admin.ForceInit(background, c, script.MaxFloor+1), "floor")
		harness.RequireOptionError(t, harness.ErrOf(admin.PlanInit(background, c, script.MaxFloor+1)), "floor")
		for _, name := range []string{"", strings.Repeat("x", 1025)} {
			harness.RequireOptionError(t, harness.ErrOf(admin.Inspect(background, c, name)), "name")
			harness.RequireOptionError(t, harness.ErrOf(admin.ForceUnlock(background, c, admin.Inspection{Name: name})), "name")
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
			for want, bad := range map[string]func(){
				"nil context":   func() { _ = call(none, c) },
				"New or Open":   func() { _ = call(background, new(redlock.Client)) },
				"the Client is": func() { _ = call(background, nil) },
			} {
				if message, _ := panicOf(bad).(string); !strings.HasPrefix(message, "redlock: ") || !strings.Contains(message, want) {
					t.Errorf("%s: the panic is %q, want %q", name, message, want)
				}
			}
		}
	})
}

func panicOf(f func()) (message any) {
	defer func() { message = recover() }()
	f()
	return nil
}

// A call whose masters hang ends with the client or with the context.
func TestCallsUnderWayEnd(t *testing.T) {
	errGone := errors.New("gone")
	for name, call := range calls {
		for end, want := range map[string][]error{"Close": {redlock.ErrClosed}, "cancel": {context.Canceled, errGone}} {
			harness.RunInVirtualTime(t, name+", "+end, 3, func(t *testing.T, d *harness.Deployment) {
				c := d.Reached()
				harness.All(d.Masters, harness.Master.Freeze)
				ctx, cancel := context.WithCancelCause(background)
				defer cancel(nil)
				ended := make(chan error, 1)
				go func() { ended <- call(ctx, c) }()
				time.Sleep(10 * time.Millisecond)
				began := time.Now()
				if end == "cancel" {
					cancel(errGone)
				} else {
					harness.Must(t, c.Close())
				}
				if took, most := time.Since(began), 2*limits.DefaultRequestTimeout; took > most {
					t.Errorf("Close took %v, want %v at most", took, most)
				}
				err := <-ended
				for _, want := range want {
					harness.RequireErr(t, err, want)
				}
				harness.All(d.Masters, harness.Master.Thaw)
			})
		}
	}
}
