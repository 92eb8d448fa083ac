package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/cmd/redlock/agent"
	"github.com/redlock-go/redlock/internal/harness"
)

func TestLockLifecycle(t *testing.T) {
	onAgent(t, agent.Config{}, func(t *testing.T, d *harness.Deployment, _ *agent.Agent, c caller) {
		s := c.open(15 * time.Second)
		lock := c.does("PUT", s+"/locks/a", `{"name": "job"}`)
		if lock.State != "held" || lock.Mode != "write" || lock.Token == "" || lock.ValidFor <= 14_000 || lock.ValidFor >= 15_000 {
			t.Errorf("got %s", lock.Body)
		}
		if same := c.does("GET", s+"/locks/a", ""); same.Token != lock.Token {
			t.Errorf("got %s", same.Body)
		}
		c.does("POST", s+"/locks/a/extend", `{"ttl_ms": 40000}`)
		if v := c.does("POST", "/v1/verify", `{"name": "job", "token": "`+lock.Token+`"}`); v.Verdict != "valid" {
			t.Errorf("got %s", v.Body)
		}
		if in := c.does("POST", "/v1/inspect", `{"name": "job"}`); in.State != "held" || in.Token != lock.Token {
			t.Errorf("got %s", in.Body)
		}
		if kept := c.does("POST", s+"/keep", ""); len(kept.Locks) != 1 || kept.Locks[0].ID != "a" || kept.Locks[0].Token != lock.Token {
			t.Errorf("got %s", kept.Body)
		}
		for range 2 { // the answer may have been lost
			if released := c.does("DELETE", s+"/locks/a", ""); released.State != "released" || !released.Freed {
				t.Errorf("got %s", released.Body)
			}
		}
		c.fails("GET", s+"/locks/a", "", "released")
		c.fails("PUT", s+"/locks/a", `{"name": "job"}`, "released")
		harness.UnlockAll(t, harness.MustTry(t, d.Client(), "job"))
		for range 2 {
			c.does("DELETE", s, "")
		}
		c.fails("POST", s+"/keep", "", "no-session")
	})
}

func TestModes(t *testing.T) {
	onAgent(t, agent.Config{}, func(t *testing.T, d *harness.Deployment, _ *agent.Agent, c caller) {
		s := c.open(15 * time.Second)
		for _, id := range []string{"a", "b"} {
			if reader := c.does("PUT", s+"/locks/"+id, `{"name": "rates", "mode": "read"}`); reader.Mode != "read" || reader.Token != "" {
				t.Errorf("got %s", reader.Body)
			}
		}
		c.fails("PUT", s+"/locks/c", `{"name": "rates"}`, "held")
		set := c.does("PUT", s+"/locks/d", `{"names": ["y", "x"]}`)
		if len(set.Tokens) != 2 || set.Tokens["x"] == "" || set.Tokens["y"] == "" || set.Token != "" || strings.Join(set.Names, "") != "xy" {
			t.Errorf("got %s", set.Body)
		}
		c.fails("PUT", s+"/locks/e", `{"name": "x"}`, "held")
		c.does("DELETE", s+"/locks/d", "")

		c.does("PUT", s+"/locks/f", `{"name": "short", "hold_at_least_ms": 5000}`)
		c.does("DELETE", s+"/locks/f", "")
		c.fails("PUT", s+"/locks/g", `{"name": "short"}`, "held")
		began := time.Now()
		c.does("PUT", s+"/locks/h", `{"name": "short", "wait_ms": 10000}`)
		if waited := time.Since(began); waited < 4*time.Second || waited > 7*time.Second {
			t.Errorf("waited for %v", waited)
		}
	})
}

// A request that is sent twice gets one lock, even if the second copy arrives before the first copy is answered.
func TestLockRequestIsIdempotent(t *testing.T) {
	onAgent(t, agent.Config{}, func(t *testing.T, d *harness.Deployment, _ *agent.Agent, c caller) {
		s := c.open(time.Minute)
		rival := harness.MustTry(t, d.Client(), "job")
		got := make(chan answer, 2)
		for range 2 {
			go func() { got <- c.call("PUT", s+"/locks/a", `{"name": "job", "wait_ms": 20000}`) }()
		}
		synctest.Wait()
		c.fails("PUT", s+"/locks/a", `{"name": "other", "wait_ms": 20000}`, "id-reused")
		c.fails("GET", s+"/locks/a", "", "waiting")
		harness.UnlockAll(t, rival)
		first, second := <-got, <-got
		third := c.does("PUT", s+"/locks/a", `{"name": "job", "wait_ms": 20000}`)
		if first.Token == "" || first.Token != second.Token || first.Token != third.Token {
			t.Errorf("got %s%s%s", first.Body, second.Body, third.Body)
		}
		c.does("DELETE", s+"/locks/a", "")
		harness.UnlockAll(t, harness.MustTry(t, d.Client(), "job"))
	})
}

// A program that got no answer may repeat its request: the wait continues.
func TestWaitOutlivesConnection(t *testing.T) {
	onAgent(t, agent.Config{}, func(t *testing.T, d *harness.Deployment, _ *agent.Agent, c caller) {
		s := c.open(time.Minute)
		rival := harness.MustTry(t, d.Client(), "job")
		broken, cut := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			callIn(broken, c, "PUT", s+"/locks/a", `{"name": "job", "wait_ms": 20000}`)
		}()
		synctest.Wait()
		cut()
		<-gone
		harness.UnlockAll(t, rival)
		time.Sleep(time.Second)
		if held := c.does("GET", s+"/locks/a", ""); held.Token == "" {
			t.Errorf("got %s", held.Body)
		}
	})
}

// If a program gave up a lock, neither a late nor a waiting request acquires it.
func TestUnlockBeforeLock(t *testing.T) {
	onAgent(t, agent.Config{}, func(t *testing.T, d *harness.Deployment, _ *agent.Agent, c caller) {
		s := c.open(time.Minute)
		c.does("DELETE", s+"/locks/a", "")
		c.fails("PUT", s+"/locks/a", `{"name": "job"}`, "released")

		rival := harness.MustTry(t, d.Client(), "job")
		refused := make(chan answer, 1)
		go func() { refused <- c.call("PUT", s+"/locks/b", `{"name": "job", "wait_ms": 20000}`) }()
		synctest.Wait()
		c.does("DELETE", s+"/locks/b", "")
		if a := <-refused; !strings.HasSuffix(a.Type, "#released") {
			t.Errorf("got %s", a.Body)
		}
		harness.UnlockAll(t, rival)
		synctest.Wait()
		harness.UnlockAll(t, harness.MustTry(t, d.Client(), "job"))
	})
}

// A release grants a lock with a short lease. The agent extends this lease before it reports the lock. A lock
// that was free costs no renewal.
func TestHandedOverLockHasWholeLease(t *testing.T) {
	t.Parallel()
	for _, session := range []time.Duration{15 * time.Second, time.Hour} {
		harness.RunInVirtualTime(t, session.String(), 3, func(t *testing.T, d *harness.Deployment) {
			var extends atomic.Int64
			counts := redlock.WithObserver(redlock.Observer{Renewed: func(context.Context, redlock.Renewal) { extends.Add(1) }})
			_, one := newAgent(t, d, agent.Config{})
			_, two := newAgent(t, d, agent.Config{}, counts)
			s, other := one.open(session), two.open(session)
			least := min(session, 30*time.Second) * 9 / 10
			two.does("PUT", other+"/locks/warm", `{"name": "job"}`)
			two.does("DELETE", other+"/locks/warm", "")
			if n := extends.Load(); n != 0 {
				t.Errorf("%d renewals of a lease that was whole", n)
			}
			one.does("PUT", s+"/locks/a", `{"name": "job"}`)
			got := make(chan answer, 1)
			go func() { got <- two.call("PUT", other+"/locks/a", `{"name": "job", "wait_ms": 10000}`) }()
			time.Sleep(300 * time.Millisecond) // it is in the queue of each master
			one.does("DELETE", s+"/locks/a", "")
			if lock := <-got; lock.State != "held" || lock.validFor() < least {
				t.Errorf("got %s, want it valid for %v", lock.Body, least)
			}
		})
	}
}

// A lock that a release granted is not reported while its lease cannot be extended: the wait continues.
func TestShortLeaseIsNotReported(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		_, one := newAgent(t, d, agent.Config{})
		cut := func() {
			harness.All(d.Masters[:2], harness.Master.Freeze)
		}
		granted := redlock.WithObserver(redlock.Observer{Acquired: func(context.Context, redlock.Acquisition) { cut(); cut = func() {} }})
		_, two := newAgent(t, d, agent.Config{}, granted)
		s, other := one.open(time.Minute), two.open(time.Minute)
		one.does("PUT", s+"/locks/a", `{"name": "job"}`)
		got := make(chan answer, 1)
		go func() { got <- two.call("PUT", other+"/locks/a", `{"name": "job", "wait_ms": 50000}`) }()
		time.Sleep(300 * time.Millisecond)
		go one.call("DELETE", s+"/locks/a", "")
		time.Sleep(5 * time.Second)
		harness.All(d.Masters[:2], harness.Master.Thaw)
		if lock := <-got; lock.State != "held" || lock.validFor() < 25*time.Second {
			t.Errorf("got %s", lock.Body)
		}
	})
}

// While a program may rely on the lock, no other client acquires it. Soon after, another client does. All the time
// the program is silent. In some cases the agent drains.
func TestReportedLeaseIsExclusive(t *testing.T) {
	t.Parallel()
	const ttl = 5 * time.Second
	for _, session := range []time.Duration{time.Second, 3 * time.Second, 40 * time.Second} {
		for _, drains := range []time.Duration{0, time.Millisecond, time.Minute} { // 0: the agent does not drain
			harness.RunInVirtualTime(t, fmt.Sprintf("session of %v, patience %v", session, drains), 3, func(t *testing.T, d *harness.Deployment) {
				a, c := newAgent(t, d, agent.Config{}, redlock.WithTTL(ttl))
				s := c.open(session)
				c.does("PUT", s+"/locks/a", `{"name": "job"}`)
				time.Sleep(session / 3)
				sent := time.Now()
				reply := c.does("PUT", s+"/locks/a", `{"name": "job"}`) // renews the session
				believed := sent.Add(reply.validFor())
				if reply.validFor() < min(session, ttl)/2 || reply.validFor() >= min(session, ttl) {
					t.Errorf("valid for %v", reply.validFor())
				}
				if drains > 0 {
					go a.Drain(t.Context(), drains)
					synctest.Wait()
				}
				rival, err := d.Client(redlock.WithTTL(ttl)).Lock(t.Context(), "job", redlock.WithWait(2*time.Minute))
				harness.Must(t, err)
				if early := time.Until(believed); early > 0 {
					t.Errorf("another had the lock %v before the end of the reported lease", early)
				}
				if late := time.Since(sent.Add(session)); late > 2*time.Second {
					t.Errorf("another had it %v after the session", late)
				}
				harness.UnlockAll(t, rival)
			})
		}
	}
}

// A program whose clock is 1 % slow does not rely on its lock after the end of the session.
func TestSlowClientClock(t *testing.T) {
	onAgent(t, agent.Config{}, func(t *testing.T, d *harness.Deployment, _ *agent.Agent, c caller) {
		for _, session := range []time.Duration{time.Second, 10 * time.Second} {
			s := c.open(session)
			reply := c.does("PUT", s+"/locks/a", fmt.Sprintf(`{"name": "job of %v"}`, session))
			if believes := time.Duration(float64(reply.validFor()) * 1.01); believes >= session {
				t.Errorf("a session of %v: it believes in the lock for %v", session, believes)
			}
		}
	})
}

func TestSessionIsRenewedByAnyRequest(t *testing.T) {
	onAgent(t, agent.Config{}, func(t *testing.T, d *harness.Deployment, _ *agent.Agent, c caller) {
		s := c.open(3 * time.Second)
		c.does("PUT", s+"/locks/a", `{"name": "job"}`)
		for range 3 {
			for _, call := range [][3]string{
				{"POST", s + "/keep"},
				{"GET", s + "/locks/a"},
				{"POST", s + "/locks/a/extend", `{"ttl_ms": 30000}`},
				{"PUT", s + "/locks/a", `{"name": "job"}`},
				{"GET", s + "/locks/none"},
			} {
				time.Sleep(2 * time.Second)
				if a := c.call(call[0], call[1], call[2]); strings.HasSuffix(a.Type, "#no-session") {
					t.Fatalf("%v: %s", call, a.Body)
				}
			}
		}
		time.Sleep(3 * time.Second)
		c.fails("GET", s+"/locks/a", "", "no-session")
		synctest.Wait()
		harness.UnlockAll(t, harness.MustTry(t, d.Client(), "job"))
	})
}

// An agent that was stopped until after the end of a lease or of a session reports this end in its first answer,
// before its timers fire.
func TestStoppedAgent(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		_, c := newAgent(t, d, agent.Config{}, redlock.WithTTL(5*time.Second))
		short, long := c.open(4*time.Second), c.open(time.Minute)
		c.does("PUT", short+"/locks/a", `{"name": "job"}`)
		c.does("PUT", long+"/locks/a", `{"name": "other"}`)
		c.does("PUT", long+"/locks/b", `{"names": ["x", "y"]}`)
		d.Slept.Add(int64(6 * time.Second))
		c.fails("PUT", long+"/locks/a", `{"name": "other"}`, "expired")
		c.fails("GET", long+"/locks/b", "", "expired")
		if kept := c.does("POST", long+"/keep", ""); len(kept.Locks) != 0 {
			t.Errorf("got %s", kept.Body)
		}
		c.fails("PUT", short+"/locks/a", `{"name": "job"}`, "no-session")
		c.fails("DELETE", long+"/locks/a", "", "expired")
		c.fails("DELETE", long+"/locks/a", "", "expired")
	})
}

func TestLockBelongsToSession(t *testing.T) {
	onAgent(t, agent.Config{}, func(t *testing.T, d *harness.Deployment, _ *agent.Agent, c caller) {
		s, other := c.open(time.Minute), c.open(time.Minute)
		c.does("PUT", s+"/locks/a", `{"name": "job"}`)
		c.fails("GET", other+"/locks/a", "", "no-lock")
		c.fails("POST", other+"/locks/a/extend", `{"ttl_ms": 30000}`, "no-lock")
		c.does("DELETE", other+"/locks/a", "")
		c.fails("PUT", other+"/locks/b", `{"name": "job"}`, "held")
		if kept := c.does("POST", other+"/keep", ""); strings.Contains(kept.Body, "job") {
			t.Errorf("got %s", kept.Body)
		}
		c.does("GET", s+"/locks/a", "")
	})
}

// A draining agent grants no new lock, ends waits, and is done when its sessions end.
func TestDrain(t *testing.T) {
	onAgent(t, agent.Config{}, func(t *testing.T, d *harness.Deployment, a *agent.Agent, c caller) {
		s, idle := c.open(time.Minute), c.open(10*time.Second)
		c.does("PUT", s+"/locks/a", `{"name": "job"}`)
		waits := make(chan answer, 1)
		go func() { waits <- c.call("PUT", s+"/locks/b", `{"name": "job", "wait_ms": 60000}`) }()
		synctest.Wait()
		left := make(chan int, 1)
		go func() { left <- a.Drain(t.Context(), 2*time.Minute) }()
		synctest.Wait()
		if w := <-waits; !strings.HasSuffix(w.Type, "#draining") || !w.Retryable {
			t.Errorf("got %s", w.Body)
		}
		c.fails("POST", "/v1/sessions", "", "draining")
		c.fails("PUT", s+"/locks/c", `{"name": "new"}`, "draining")
		c.fails("GET", "/readyz", "", "draining")
		c.does("GET", "/livez", "")
		for range 3 { // sessions that have begun go on
			time.Sleep(30 * time.Second)
			if kept := c.does("POST", s+"/keep", ""); !kept.Draining || len(kept.Locks) != 1 {
				t.Errorf("got %s", kept.Body)
			}
		}
		c.fails("POST", idle+"/keep", "", "no-session")
		c.does("DELETE", s+"/locks/a", "")
		c.does("DELETE", s, "")
		if n := <-left; n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}

// A lock that is granted just when the agent begins to drain is not reported, and is released: the drain has ended the
// lock's context, which could no longer report a loss. The lock is granted at once, or by a release.
func TestDrainBesideGrant(t *testing.T) {
	t.Parallel()
	for _, rival := range []bool{false, true} {
		harness.RunInVirtualTime(t, fmt.Sprintf("rival %v", rival), 3, func(t *testing.T, d *harness.Deployment) {
			var a *agent.Agent
			ended, end := context.WithCancel(t.Context())
			end()
			drain := redlock.WithObserver(redlock.Observer{Acquired: func(context.Context, redlock.Acquisition) { a.Drain(ended, time.Hour) }})
			a, c := newAgent(t, d, agent.Config{}, drain)
			s := c.open(time.Minute)
			if rival {
				other := harness.MustTry(t, d.Client(), "job")
				time.AfterFunc(time.Second, func() { harness.UnlockAll(t, other) })
			}
			c.fails("PUT", s+"/locks/a", `{"name": "job", "wait_ms": 20000}`, "draining")
			c.fails("GET", s+"/locks/a", "", "no-lock")
			synctest.Wait()
			harness.UnlockAll(t, harness.MustTry(t, d.Client(), "job"))
		})
	}
}

// If a wait is ended just when its lock is granted, the answer to DELETE is that of the unlock.
func TestUnlockBesideGrant(t *testing.T) {
	t.Parallel()
	for _, rival := range []bool{false, true} {
		for _, freed := range []bool{false, true} {
			harness.RunInVirtualTime(t, fmt.Sprintf("rival %v, freed %v", rival, freed), 3, func(t *testing.T, d *harness.Deployment) {
				var c caller
				var s string
				deleted := make(chan answer, 1)
				granted := redlock.WithObserver(redlock.Observer{Acquired: func(context.Context, redlock.Acquisition) {
					if !freed {
						harness.All(d.Masters[:2], harness.Master.Freeze)
					}
					go func() { deleted <- c.call("DELETE", s+"/locks/a", "") }()
					time.Sleep(time.Millisecond) // it has ended the wait
				}})
				_, c = newAgent(t, d, agent.Config{}, granted)
				s = c.open(time.Minute)
				if rival {
					other := harness.MustTry(t, d.Client(), "job")
					time.AfterFunc(time.Second, func() { harness.UnlockAll(t, other) })
				}
				c.fails("PUT", s+"/locks/a", `{"name": "job", "wait_ms": 20000, "hold_at_least_ms": 30000}`, "released")
				if got := <-deleted; got.State != "released" || got.Freed != freed {
					t.Errorf("got %s", got.Body)
				}
				if freed {
					harness.UnlockAll(t, harness.MustTry(t, d.Client(), "job"))
				}
				harness.All(d.Masters[:2], harness.Master.Thaw)
			})
		}
	}
}

// However many requests come, they do not renew a session beyond the end of the drain.
func TestDrainEndsRenewedSessions(t *testing.T) {
	onAgent(t, agent.Config{}, func(t *testing.T, d *harness.Deployment, a *agent.Agent, c caller) {
		s := c.open(3 * time.Second)
		c.does("PUT", s+"/locks/a", `{"name": "job"}`)
		left := make(chan int, 1)
		go func() { left <- a.Drain(t.Context(), 10*time.Second) }()
		synctest.Wait()
		for range 9 {
			time.Sleep(time.Second)
			c.does("POST", s+"/keep", "")
		}
		time.Sleep(1100 * time.Millisecond)
		c.fails("POST", s+"/keep", "", "no-session")
		if n := <-left; n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}

// If a lock was promised to a session for longer than the drain lasts, the drain does not release the lock.
func TestDrainKeepsPromisedLeases(t *testing.T) {
	onAgent(t, agent.Config{}, func(t *testing.T, d *harness.Deployment, a *agent.Agent, c caller) {
		s, waits := c.open(time.Minute), c.open(time.Minute)
		c.open(time.Minute) // has no lock
		c.does("PUT", s+"/locks/a", `{"name": "job"}`)
		refused := make(chan answer, 1)
		go func() { refused <- c.call("PUT", waits+"/locks/a", `{"name": "job", "wait_ms": 60000}`) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if left := a.Drain(ctx, 4*time.Second); left != 1 {
			t.Errorf("%d sessions are left", left)
		}
		<-refused
		if _, err := d.Client().TryLock(t.Context(), "job"); err == nil {
			t.Error("the lock was released")
		}
		c.does("DELETE", s+"/locks/a", "")
		if left := a.Drain(ctx, 0); left != 0 {
			t.Errorf("%d sessions are left, of which none has a lock", left)
		}
	})
}

// A session whose wait a drain ends at the last moment gets "draining", and holds no lock that is left to expire.
func TestDrainThenClose(t *testing.T) {
	onAgent(t, agent.Config{}, func(t *testing.T, d *harness.Deployment, a *agent.Agent, c caller) {
		s := c.open(time.Minute)
		rival := harness.MustTry(t, d.Client(), "job")
		refused := make(chan answer, 1)
		go func() { refused <- c.call("PUT", s+"/locks/a", `{"name": "job", "wait_ms": 60000}`) }()
		synctest.Wait()
		ended, end := context.WithCancel(t.Context())
		end()
		if left := a.Drain(ended, 0); left != 0 {
			t.Errorf("%d sessions are left", left)
		}
		a.Close()
		if w := <-refused; !strings.HasSuffix(w.Type, "#draining") {
			t.Errorf("got %s", w.Body)
		}
		harness.UnlockAll(t, rival)
		harness.UnlockAll(t, harness.MustTry(t, d.Client(), "job"))
	})
}

func TestLimits(t *testing.T) {
	onAgent(t, agent.Config{MaxSessions: 2, MaxLocks: 3, MaxWaiters: 2}, func(t *testing.T, d *harness.Deployment, _ *agent.Agent, c caller) {
		s, other := c.open(time.Minute), c.open(time.Minute)
		c.fails("POST", "/v1/sessions", "", "limit")
		for i := range 3 {
			c.does("PUT", fmt.Sprintf("%s/locks/%d", s, i), fmt.Sprintf(`{"name": "job%d"}`, i))
		}
		if full := c.fails("PUT", s+"/locks/3", `{"name": "more"}`, "limit"); !full.Retryable || full.Status != 429 {
			t.Errorf("got %s", full.Body)
		}
		c.does("DELETE", s+"/locks/0", "")
		c.does("PUT", s+"/locks/4", `{"name": "more"}`)
		for i := range 2 {
			go c.call("PUT", fmt.Sprintf("%s/locks/%d", other, i), `{"name": "job1", "wait_ms": 1000}`)
		}
		synctest.Wait()
		c.fails("PUT", other+"/locks/2", `{"name": "free"}`, "limit")
		time.Sleep(2 * time.Second)
		c.does("PUT", other+"/locks/2", `{"name": "free"}`)
		c.does("DELETE", s, "")
		c.open(time.Minute)
	})
}

func TestBadInput(t *testing.T) {
	onAgent(t, agent.Config{}, func(t *testing.T, d *harness.Deployment, _ *agent.Agent, c caller) {
		s := c.open(time.Minute)
		for _, bad := range []struct{ method, path, body, text string }{
			{"POST", "/v1/sessions", `{"ttl_ms": 5}`, "ttl_ms 5: must be milliseconds, from 1000 to 3600000"},
			{"POST", "/v1/sessions", `{"ttl": 5000}`, "unknown field"},
			{"POST", "/v1/sessions", `{`, "must be the JSON"},
			{"POST", "/v1/sessions", `{"ttl_ms": 5000} {"ttl_ms": 9000}`, "nothing behind it"},
			{"PUT", s + "/locks/a", `{"name": "a"}, "wait_ms": 5000}`, "nothing behind it"},
			{"PUT", s + "/locks/a", `{}`, "name"},
			{"PUT", s + "/locks/a", `{"name": "a", "names": ["b"]}`, "not both"},
			{"PUT", s + "/locks/a", `{"names": ["b", "b"]}`, "must not be the same"},
			{"PUT", s + "/locks/a", `{"names": ["b", "c"], "mode": "read"}`, "several"},
			{"PUT", s + "/locks/a", `{"name": "a", "mode": "rw"}`, `must be "write" or "read"`},
			{"PUT", s + "/locks/a", `{"name": "a", "wait_ms": -1}`, "wait_ms -1"},
			{"PUT", s + "/locks/a", `{"name": "a", "ttl_ms": 1}`, "ttl 1ms"},
			{"PUT", s + "/locks/a", `{"name": "a", "ttl_ms": 1.5}`, "must be the JSON"},
			{"PUT", s + "/locks/a", `{"name": "a", "hold_at_least_ms": 9999999}`, "hold at least"},
			{"PUT", s + "/locks/a", `{"name": "` + strings.Repeat("x", 1025) + `"}`, "1024"},
			{"PUT", s + "/locks/a", `{"name": "` + "\xff" + `"}`, "UTF-8"},
			{"PUT", s + "/locks/a", `{"name": "\ud800"}`, "UTF-8"},
			{"PUT", s + "/locks/" + strings.Repeat("x", 129), `{"name": "a"}`, "128 bytes"},
			{"PUT", s + "/locks/a", `{"name": "a", "mode": "` + strings.Repeat("x", 256<<10) + `"}`, "shorter"},
			{"POST", s + "/locks/a/extend", `{}`, "ttl_ms 0"},
			{"POST", "/v1/verify", `{"name": "a"}`, "token"},
			{"POST", "/v1/inspect", `{}`, "name"},
		} {
			if a := c.fails(bad.method, bad.path, bad.body, "bad-option"); a.Status != 400 || a.Retryable || !strings.Contains(a.Detail, bad.text) {
				t.Errorf("%s %.80s: got %s", bad.method, bad.body, a.Body)
			}
		}
		c.fails("GET", "/v1/nothing", "", "no-call")
		c.fails("GET", "/v1/sessions", "", "no-call")
		c.fails("GET", s+"/locks/none", "", "no-lock")
		if kept := c.does("POST", s+"/keep", ""); len(kept.Locks) != 0 {
			t.Errorf("got %s", kept.Body)
		}
	})
}

// A setting that the deployment does not allow does not end the agent: /readyz and the requests to lock report it.
func TestBadTTL(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		harness.UnlockAll(t, harness.MustTry(t, d.Client(redlock.WithMaxTTL(time.Minute)), "job")) // this founds the deployment
		_, c := newAgent(t, d, agent.Config{}, redlock.WithMaxTTL(time.Hour))
		c.fails("GET", "/readyz", "", "bad-option")
		c.fails("PUT", c.open(time.Minute)+"/locks/a", `{"name": "job"}`, "bad-option")
	})
}

func TestToken(t *testing.T) {
	onAgent(t, agent.Config{Token: "secret", Metrics: agent.NewMetrics()}, func(t *testing.T, d *harness.Deployment, _ *agent.Agent, c caller) {
		for _, header := range []string{"", "secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secret2", "Basic secret"} {
			for _, call := range [][2]string{{"POST", "/v1/sessions"}, {"GET", "/metrics"}, {"POST", "/v1/inspect"}, {"GET", "/nothing"}} {
				if a := callWith(c, header, call[0], call[1]); a.Status != 401 || !strings.HasSuffix(a.Type, "#unauthorized") {
					t.Errorf("%q, %v: got %d %s", header, call, a.Status, a.Body)
				}
			}
		}
		if a := callWith(c, "Bearer secret", "POST", "/v1/sessions"); a.Status != 200 {
			t.Errorf("got %s", a.Body)
		}
		c.does("GET", "/livez", "")
		c.does("GET", "/readyz", "")
	})
}

// The problem of a lock that was not acquired shows whether a retry may help.
func TestRetryable(t *testing.T) {
	onAgent(t, agent.Config{}, func(t *testing.T, d *harness.Deployment, _ *agent.Agent, c caller) {
		s := c.open(time.Hour)
		rival := harness.MustTry(t, d.Client(), "job")
		if a := c.fails("PUT", s+"/locks/a", `{"name": "job", "wait_ms": 100}`, "held"); !a.Retryable || a.FreeIn <= 0 || a.Status != 409 {
			t.Errorf("got %s", a.Body)
		}
		harness.UnlockAll(t, rival)
		time.Sleep(time.Second)
		harness.All(d.Masters[:2], harness.Master.Die)
		if a := c.fails("PUT", s+"/locks/a", `{"name": "job", "wait_ms": 100}`, "no-quorum"); !a.Retryable || a.Status != 503 {
			t.Errorf("got %s", a.Body)
		}
		c.fails("GET", "/readyz", "", "no-quorum")
		c.fails("POST", "/v1/verify", `{"name": "job", "token": "1"}`, "no-quorum")
	})
}

func TestNeedsInitIsNotRetryable(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		d.Founded = true // so that no client founds the deployment
		_, c := newAgent(t, d, agent.Config{})
		s := c.open(time.Hour)
		if a := c.fails("PUT", s+"/locks/a", `{"name": "job"}`, "needs-init"); a.Retryable {
			t.Errorf("got %s", a.Body)
		}
	})
}
