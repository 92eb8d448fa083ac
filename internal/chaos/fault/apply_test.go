package fault

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// scene is a fault, and its effect on a real master.
type scene struct {
	fault  string
	before func(t *testing.T, r *rig)
	during func(t *testing.T, r *rig)
	after  func(t *testing.T, r *rig)
	events string // the events between the beginning and the end of the fault; "-" if there are many
}

// Each fault is applied once. Its effect is seen while the fault lasts, and is gone afterwards.
func TestEveryFaultIsSeenAndHealed(t *testing.T) {
	t.Parallel()
	played := map[Kind]bool{Force: true} // TestForce
	for _, s := range allScenes() {
		f, err := Parse(s.fault)
		check(t, err)
		played[f.Kind] = true
	}
	for _, k := range Kinds() {
		if !played[k] {
			t.Errorf("no scene for %s", k)
		}
	}
	eachEngine(t, 2, func(t *testing.T, r *rig) {
		for _, s := range allScenes() {
			t.Run(s.fault, func(t *testing.T) { s.play(t, r) })
		}
	})
}

func (s scene) play(t *testing.T, r *rig) {
	for n := range r.World.Masters() {
		want(t, r.direct(n, "flushall"), "+OK")
	}
	if s.before != nil {
		s.before(t, r)
	}
	r.forget()
	end := r.begin(t.Context(), t, s.fault)
	if s.during != nil {
		s.during(t, r)
	}
	done(t, end())

	events, _ := r.seen()
	events, began := strings.CutPrefix(events, "fault "+s.fault)
	events, ended := strings.CutSuffix(events, "healed "+s.fault)
	events = strings.Trim(events, ", ")
	if !began || !ended || s.events != "-" && events != s.events {
		t.Errorf("events %q, want %q", events, s.events)
	}
	if s.after != nil {
		s.after(t, r)
	}
	for n := range r.World.Masters() {
		for _, client := range r.World.Clients() {
			want(t, r.answer(client, n, "set probe 1"), "+OK")
		}
		if off := r.clock(t, n); off.Abs() > 500*time.Millisecond {
			t.Errorf("the clock of m%d is ahead by %s", n, off)
		}
	}
}

func allScenes() []scene {
	return slices.Concat(masterScenes(), clockScenes(), networkScenes(), clientScenes(), memberScenes())
}

// replyIs returns a step that sends a command to m0, and compares the reply.
func replyIs(command, reply string) func(*testing.T, *rig) {
	return func(t *testing.T, r *rig) { t.Helper(); want(t, r.direct(0, command), reply) }
}

func isDown(t *testing.T, r *rig) {
	r.eventually(t, "m0 down", func() bool { return !r.master(0).Running() })
}

func isUp(t *testing.T, r *rig) {
	r.eventually(t, "m0 up again", func() bool { events, _ := r.seen(); return strings.Contains(events, "up m0") })
}

// answers returns a step that waits until m0's reply to the command contains the given text.
func answers(command, text string) func(*testing.T, *rig) {
	return func(t *testing.T, r *rig) {
		r.eventually(t, text, func() bool { return strings.Contains(r.direct(0, command), text) })
	}
}

func masterScenes() []scene {
	var runs [2]string
	setBoth := func(t *testing.T, r *rig) {
		want(t, r.direct(0, "set a 1"), "+OK")
		want(t, r.direct(0, "set b 2"), "+OK")
	}
	return []scene{
		{"kill(m0,kept,200ms)", setBoth, isDown, replyIs("dbsize", ":2"), "down m0, up m0"},
		{"kill(m0,lost,200ms)", setBoth, isDown, replyIs("dbsize", ":0"), "down m0 lost, up m0"},
		{
			"rolling-restart(m0+m1,100ms)",
			func(_ *testing.T, r *rig) {
				for n := range runs {
					runs[n] = runID(r, n)
				}
			},
			func(t *testing.T, r *rig) {
				for n := range runs {
					r.eventually(t, "one down, the other up", func() bool {
						return !r.master(n).Running() && r.master(1-n).Running()
					})
				}
			},
			func(t *testing.T, r *rig) {
				for n, was := range runs {
					if is := runID(r, n); is == "" || is == was {
						t.Errorf("the run of m%d was %q and is %q", n, was, is)
					}
				}
			},
			"down m0, up m0, down m1, up m1",
		},
		{
			"freeze(m0,300ms)", nil,
			func(t *testing.T, r *rig) {
				r.eventually(t, "frozen", r.master(0).Frozen)
				want(t, r.through("c0", 0, "incr n"), silence)
			},
			answers("get n", "$1 1"), // the request was served late
			"frozen m0, thawed m0",
		},
		{
			"promote(m0,300ms)", nil, goesBack(), nil, "down m0 lost, up m0",
		},
		promoteUntil("promote(m0,200ms)", func(*rig) string { return "hdel register durable" }), // a client records it
		promoteUntil("promote(m0,250ms)", func(r *rig) string { return "hset register run " + runID(r, 0) }),
		{
			"restore(m0,500ms,0s)", nil, goesBack(), nil, "down m0 lost, up m0",
		},
		{
			"cache(m0,400ms)", func(t *testing.T, r *rig) {
				setBoth(t, r)
				want(t, r.direct(0, "pexpire a 60000"), ":1")
			},
			answers("exists a", ":0"),
			func(t *testing.T, r *rig) {
				want(t, r.direct(0, "keys *"), "*1 $1 b")
				want(t, r.direct(0, "config get maxmemory"), "*2 $9 maxmemory $1 0")
				want(t, r.direct(0, "config get maxmemory-policy"), "*2 $16 maxmemory-policy $10 noeviction")
			}, "",
		},
		{"aof-off(m0,300ms)", nil, answers("config get appendonly", "$2 no"), replyIs("config get appendonly", "*2 $10 appendonly $3 yes"), ""},
		{
			"old-file(m0,1s,0s)",
			func(t *testing.T, r *rig) {
				answers("info persistence", "aof_rewrite_in_progress:0")(t, r) // otherwise the file would be from before the scene aof-off
				setBoth(t, r)
			},
			func(t *testing.T, r *rig) {
				answers("config get appendonly", "$2 no")(t, r)
				want(t, r.direct(0, "flushall"), "+OK")
				isUp(t, r)
			},
			replyIs("dbsize", ":2"), "down m0 lost, up m0",
		},
		{
			"replicaof(m0,m1,3s)",
			func(t *testing.T, r *rig) {
				setBoth(t, r)
				want(t, r.direct(1, "set c 3"), "+OK")
			},
			func(t *testing.T, r *rig) {
				answers("keys *", "*1 $1 c")(t, r)
				answers("set a 1", "-READONLY")(t, r)
			},
			replyIs("keys *", "*1 $1 c"), "",
		},
		{
			"password(m0,both)", nil, nil,
			func(t *testing.T, r *rig) {
				want(t, r.direct(0, "auth worker old-password"), "+OK")
				want(t, r.direct(0, "auth worker new-password"), "+OK")
				want(t, r.direct(1, "acl getuser worker"), "$-1")
			}, "",
		},
		{
			"refuse(m0,300ms)",
			func(t *testing.T, r *rig) { check(t, SetPasswords(r.master(0), New)) },
			answers("auth worker new-password", "-WRONGPASS"),
			replyIs("auth worker new-password", "+OK"), "",
		},
		{"flushall(m0)", setBoth, nil, replyIs("dbsize", ":0"), "wiped m0"},
		{
			"script-flush(m0)",
			func(t *testing.T, r *rig) {
				want(t, r.direct(0, "script load return"), "$40 63143b6f8007b98c53ca2149822777b3566f9241")
				want(t, r.direct(0, "script exists 63143b6f8007b98c53ca2149822777b3566f9241"), "*1 :1")
			},
			nil, replyIs("script exists 63143b6f8007b98c53ca2149822777b3566f9241", "*1 :0"), "",
		},
		{"oom(m0,300ms)", nil, answers("set a 1", "-OOM"), replyIs("set a 1", "+OK"), ""},
		{"busy(m0,500ms)", nil, answers("ping", "-BUSY"), replyIs("ping", "+PONG"), ""},
	}
}

// goesBack returns a step that increments a counter on m0, until the counter falls back to an earlier value.
func goesBack() func(*testing.T, *rig) {
	acked := 0
	return func(t *testing.T, r *rig) {
		r.eventually(t, "an older count", func() bool {
			n, err := strconv.Atoi(strings.TrimPrefix(r.direct(0, "incr n"), ":"))
			if err != nil || n > acked {
				acked = max(acked, n)
				return false
			}
			return true
		})
	}
}

// promoteUntil returns a scene in which the replica of a master with a register is promoted. The fault lasts until a
// client has recorded the promotion: until the test has sent the command that client() returns.
func promoteUntil(promote string, client func(*rig) (command string)) scene {
	old := goesBack()
	return scene{
		promote,
		func(t *testing.T, r *rig) { want(t, r.direct(0, "hset register durable yes run before"), ":2") },
		func(t *testing.T, r *rig) {
			old(t, r)
			r.eventually(t, "up", func() bool { events, _ := r.seen(); return strings.Contains(events, "up m0") })
			command := client(r)
			if events, _ := r.seen(); strings.Contains(events, "healed") {
				t.Errorf("it is over before any client has come by: %s", events)
			}
			r.direct(0, command)
		}, nil, "down m0 lost, up m0",
	}
}

func runID(r *rig, n int) string {
	_, rest, _ := strings.Cut(r.direct(n, "info server"), "run_id:")
	id, _, _ := strings.Cut(rest, " ")
	return id
}

func clockScenes() []scene {
	return []scene{
		{
			"clock(m0,30s,300ms)",
			replyIs("set lock v px 20000", "+OK"),
			func(t *testing.T, r *rig) {
				r.eventually(t, "a jump", func() bool { return r.clock(t, 0) > 29*time.Second })
				want(t, r.direct(0, "exists lock"), ":0")
				if off := r.clock(t, 1); off.Abs() > time.Second {
					t.Errorf("m1 jumped too, by %s", off)
				}
			},
			nil, "clock m0 30s, clock m0",
		},
		{
			"clock(m0,-1h0m0s,300ms)",
			replyIs("set lock v px 200", "+OK"),
			func(t *testing.T, r *rig) {
				r.eventually(t, "a jump", func() bool { return r.clock(t, 0) < -59*time.Minute })
				time.Sleep(200 * time.Millisecond)
				want(t, r.direct(0, "exists lock"), ":1")
			},
			replyIs("exists lock", ":0"), "clock m0 -1h0m0s, clock m0",
		},
		{
			"strobe(m0,30s,100ms,800ms)", nil,
			func(t *testing.T, r *rig) {
				for range 2 {
					r.eventually(t, "away", func() bool { return r.clock(t, 0) > 29*time.Second })
					r.eventually(t, "back", func() bool { return r.clock(t, 0) < time.Second })
				}
			},
			nil, "-",
		},
		{
			"drift(m0,900%,500ms)", nil,
			func(t *testing.T, r *rig) {
				r.eventually(t, "1 s", func() bool { return r.clock(t, 0) > time.Second })
				r.eventually(t, "2 s", func() bool { return r.clock(t, 0) > 2*time.Second })
			},
			nil, "-",
		},
	}
}

// begun waits until a network fault has begun.
func begun(t *testing.T, r *rig, name string) {
	r.eventually(t, "its begin", func() bool {
		events, _ := r.seen()
		return strings.Contains(events, "fault "+name)
	})
	time.Sleep(20 * time.Millisecond)
}

// hits returns a scene in which c0 gets the given reply to a request to m0, and c1 gets the right reply.
func hits(fault, reply string, after string) scene {
	return scene{
		fault,
		nil,
		func(t *testing.T, r *rig) {
			begun(t, r, fault)
			ask := r.answer
			if reply == silence {
				ask = r.through
			}
			if got := ask("c0", 0, "incr n"); !strings.Contains(got, reply) {
				t.Errorf("c0 sees %q, want %q", got, reply)
			}
			want(t, r.answer("c0", 1, "ping"), "+PONG")
			want(t, r.answer("c1", 0, "incr other"), ":1")
		},
		replyIs("get n", after), "",
	}
}

func networkScenes() []scene {
	const reset, never, once, twice = "reset by peer", "$-1", "$1 1", "$1 2"
	return []scene{
		hits("partition(c0,m0,to-server,300ms)", silence, never),
		hits("partition(c0,m0,to-client,300ms)", silence, once),
		hits("partition(c0,m0,both,300ms)", silence, never),
		hits("drop-request(c0,m0,1,300ms)", silence, never),
		hits("drop-reply(c0,m0,1,300ms)", silence, once),
		hits("duplicate(c0,m0,1,300ms)", ":1", twice),
		hits("late-copy(c0,m0,20ms,1,300ms)", ":1", twice),
		hits("cut(c0,m0,to-server,5,1,300ms)", reset, never),
		hits("cut(c0,m0,to-client,2,1,300ms)", reset, once),
		{
			"duplicate(c0+c1,m0,3,1s)", nil,
			func(t *testing.T, r *rig) {
				begun(t, r, "duplicate")
				for _, client := range r.World.Clients() {
					for range 6 {
						r.answer(client, 0, "incr "+client)
						time.Sleep(40 * time.Millisecond) // until repeat() has added the rule again
					}
				}
			},
			replyIs("mget c0 c1", "*2 $1 8 $1 8"), "",
		},
		{
			"stall(*,m0,both,300ms)", nil,
			func(t *testing.T, r *rig) {
				begun(t, r, "stall")
				want(t, r.through("c0", 0, "incr n"), silence)
				want(t, r.direct(0, "exists n"), ":0")
			},
			answers("get n", once), "",
		},
		{
			"astray(c0,m0,m1,300ms)", nil,
			func(t *testing.T, r *rig) {
				begun(t, r, "astray")
				r.answer("c0", 0, "set there 1")
				r.answer("c1", 0, "set here 1")
			},
			func(t *testing.T, r *rig) {
				want(t, r.direct(0, "keys *"), "*1 $4 here")
				want(t, r.direct(1, "keys *"), "*1 $5 there")
			}, "",
		},
		{
			"delay(c0,m0,200ms,400ms)", nil,
			func(t *testing.T, r *rig) {
				begun(t, r, "delay")
				want(t, r.through("c0", 0, "incr n"), silence) // the timeout of through() is 100 ms
				want(t, r.answer("c1", 0, "ping"), "+PONG")
			},
			answers("get n", once), "",
		},
	}
}

// calls returns a step that compares the recorded calls with the given text.
func calls(text string) func(*testing.T, *rig) {
	return func(t *testing.T, r *rig) {
		t.Helper()
		if _, got := r.seen(); got != text {
			t.Errorf("calls %q, want %q", got, text)
		}
	}
}

func memberScenes() []scene {
	return []scene{
		{"suspend(m1,0s,50ms)", nil, nil, calls("change {{suspend m1 }}, change {{resume m1 }}"), ""},
		{"replace(m0,m1,0s,50ms)", nil, nil, calls("change {{replace m1 m0}}, change {{replace m0 m1}}"), ""},
		{"add(m1,0s,50ms)", nil, nil, calls("change {{add m1 }}, remove m1"), ""},
		{"remove(m0,0s,50ms)", nil, nil, calls("remove m0, change {{add m0 }}"), ""},
		{"init(m0+m1)", nil, nil, calls("init m0 m1"), ""},
	}
}

// An operator takes the lock with the given number. If the operator is killed, another operator takes the lock.
func TestForce(t *testing.T) {
	t.Parallel()
	r := &rig{}
	r.Env = &Env{Operator: r, Patience: 10 * time.Second, Names: []string{"a", "b"}, Emit: r.emit}
	check(t, r.begin(t.Context(), t, "force(n1,0s)")())
	const events = "fault force(n1,0s), force , forced , healed force(n1,0s)"
	if is, called := r.seen(); is != events || called != "force b" {
		t.Errorf("events %q, calls %q; want %q, and force b", is, called, events)
	}
	r.forget()
	r.hangs = 1
	check(t, r.begin(t.Context(), t, "force(n0,1ms)")())
	if _, called := r.seen(); called != "force a, force a" {
		t.Errorf("calls %q, want the lock to be taken by a second operator", called)
	}
	if err := r.begin(t.Context(), t, "force(n2,0s)")(); err == nil || !strings.Contains(err.Error(), "no lock n2") {
		t.Errorf("%v, want that there is no such lock", err)
	}
}

func clientScenes() []scene {
	return []scene{
		{"stop-client(c1,100ms)", nil, nil, calls("stop c1, continue c1"), "client-stopped c1, client-goes-on c1"},
		{"kill-client(c0,100ms)", nil, nil, calls("kill c0, restart c0"), "client-killed c0, client-starts c0"},
	}
}

// The end of the run heals all faults at once. Faults that have not begun do not begin.
func TestContextEndHeals(t *testing.T) {
	t.Parallel()
	eachEngine(t, 1, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		end := r.begin(ctx, t, "kill(m0,kept,1h)")
		isDown(t, r)
		waits := r.begin(ctx, t, "freeze(m0,1h)")
		clock := r.begin(ctx, t, "clock(m0,1h,1h)")
		cancel()
		check(t, end())
		done(t, clock())
		if err := waits(); !errors.Is(err, context.Canceled) {
			t.Errorf("what waited for the process: %v", err)
		}
		want(t, r.direct(0, "ping"), "+PONG")
		if off := r.clock(t, 0); off.Abs() > time.Second {
			t.Errorf("the clock is ahead by %s", off)
		}
	})
}

func TestHealAll(t *testing.T) {
	t.Parallel()
	eachEngine(t, 2, func(t *testing.T, r *rig) {
		done(t, r.master(1).SetClock(time.Hour))
		check(t, r.master(0).Kill())
		want(t, r.direct(1, "config set maxmemory 1"), "+OK")
		check(t, r.master(1).Freeze())
		r.World.Front("c0")[0].Partition(true, true)
		r.World.Front("c1")[1].Latency(time.Hour)
		check(t, HealAll(t.Context(), r.Env))
		for n := range r.World.Masters() {
			for _, client := range r.World.Clients() {
				want(t, r.answer(client, n, "set a 1"), "+OK")
			}
			if off := r.clock(t, n); off.Abs() > time.Second {
				t.Errorf("the clock of m%d is ahead by %s", n, off)
			}
		}
		events, calls := r.seen()
		for _, e := range []string{"up m0", "thawed m1"} {
			if !strings.Contains(events, e) {
				t.Errorf("no %q in %q", e, events)
			}
		}
		if calls != "continue c0, restart c0, continue c1, restart c1" {
			t.Errorf("calls %q", calls)
		}
	})
}
