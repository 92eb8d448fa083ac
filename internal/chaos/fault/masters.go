package fault

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// commandTimeout is the longest time for a command to a server that should answer.
const commandTimeout = 5 * time.Second

// command sends one command to the server, even after the run has ended, because the command may heal a fault.
func command(m cluster.Master, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	_, err := m.Do(ctx, args...)
	if err != nil {
		return fmt.Errorf("%s to %s: %w", args[0], m.Name(), err)
	}
	return nil
}

// The functions below begin and end faults of one master.

func order(args ...any) func(Fault, *Env, cluster.Master) error {
	return func(_ Fault, _ *Env, m cluster.Master) error { return command(m, args...) }
}

func set(name string, value any) func(Fault, *Env, cluster.Master) error {
	return order("config", "set", name, value)
}

func nothing(Fault, *Env, cluster.Master) error { return nil }

// kill records that the master goes down, and whether its data is lost. Then it kills the master, and wipes lost data.
func kill(f Fault, env *Env, m cluster.Master) error {
	lost := f.forgets() || env.World.Fsync() == cluster.None
	env.Emit(history.Event{Kind: history.MasterDown, Master: m.Name(), Lost: lost})
	if err := m.Kill(); err != nil || f.Data != Lost {
		return err
	}
	return m.Wipe()
}

func start(_ Fault, env *Env, m cluster.Master) error {
	if m.Running() {
		return nil
	}
	if err := m.Start(); err != nil {
		return err
	}
	env.masterEvent(history.MasterUp, m)
	return nil
}

func freeze(_ Fault, env *Env, m cluster.Master) error {
	if err := m.Freeze(); err != nil {
		return err
	}
	env.masterEvent(history.MasterFrozen, m)
	return nil
}

// thaw records the thaw in the history before the master continues.
func thaw(_ Fault, env *Env, m cluster.Master) error {
	if !m.Frozen() {
		return nil
	}
	env.masterEvent(history.MasterThawed, m)
	return m.Thaw()
}

func flushAll(_ Fault, env *Env, m cluster.Master) error {
	if err := command(m, "flushall"); err != nil {
		return err
	}
	env.masterEvent(history.MasterWiped, m)
	return nil
}

func applyRestore(ctx context.Context, f Fault, env *Env, all []cluster.Master) error {
	if err := each(all, cluster.Master.Backup); err != nil {
		return err
	}
	Wait(ctx, f.Delay)
	putBack := func(f Fault, env *Env, m cluster.Master) error {
		if err := kill(f, env, m); err != nil {
			return err
		}
		return m.Restore()
	}
	return spanned(putBack, start)(ctx, f, env, all)
}

func applyRollingRestart(ctx context.Context, f Fault, env *Env, all []cluster.Master) error {
	for i := range all {
		if err := spanned(kill, start)(ctx, f, env, all[i:i+1]); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// syncTimeout is the longest time for the synchronization of a replica.
const syncTimeout = 30 * time.Second

func applyPromote(ctx context.Context, f Fault, env *Env, all []cluster.Master) error {
	err := each(all, func(m cluster.Master) error {
		ctx, cancel := context.WithTimeout(ctx, syncTimeout)
		defer cancel()
		if err := m.Follow(ctx); err != nil {
			return err
		}
		return m.Lag()
	})
	if err != nil {
		return err
	}
	Wait(ctx, f.Delay)
	return each(all, func(m cluster.Master) error {
		env.Emit(history.Event{Kind: history.MasterDown, Master: m.Name(), Lost: true})
		if err := m.Promote(); err != nil {
			return errors.Join(err, start(f, env, m))
		}
		env.masterEvent(history.MasterUp, m)
		untilNoted(ctx, env, m)
		return nil
	})
}

// untilNoted waits until a client has recorded on a promoted master that the master may have lost writes, or has made
// the master a new member. If the master restarted earlier, Redis would not report that it was a replica: see
// docs/OPERATIONS.md.
func untilNoted(ctx context.Context, env *Env, m cluster.Master) {
	noted := func() bool {
		values, err := m.Do(ctx, "hmget", env.Register, "durable", "run")
		info, infoErr := m.Do(ctx, "info", "server")
		if err != nil || infoErr != nil {
			return false
		}
		fields := values.([]any)
		return fields[0] != "yes" || strings.Contains(info.(string), "run_id:"+fmt.Sprint(fields[1]))
	}
	for ctx.Err() == nil && !noted() {
		Wait(ctx, 20*time.Millisecond)
	}
}

// cacheRoom is the headroom below maxmemory, in bytes, when the fault begins. Without it, the memory of new
// connections would cause evictions at once.
const cacheRoom = 1 << 20

// applyCache sets maxmemory and an eviction policy at the beginning of the span, and fills the memory in the middle of
// the span. So clients find the settings before a key is evicted.
func applyCache(ctx context.Context, f Fault, env *Env, all []cluster.Master) error {
	begin := func(m cluster.Master) error {
		used, err := usedMemory(m)
		if err != nil {
			return err
		}
		return errors.Join(command(m, "config", "set", "maxmemory", used+cacheRoom), command(m, "config", "set", "maxmemory-policy", "volatile-lru"))
	}
	end := func(m cluster.Master) error {
		return errors.Join(command(m, "config", "set", "maxmemory-policy", "noeviction"), command(m, "config", "set", "maxmemory", 0))
	}
	return during(ctx, f.Span/2, all, begin, func(m cluster.Master) (err error) {
		if ctx.Err() == nil {
			err = m.Crowd()
			Wait(ctx, f.Span/2)
		}
		return errors.Join(err, end(m))
	})
}

func usedMemory(m cluster.Master) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	info, err := m.Do(ctx, "info", "memory")
	if err != nil {
		return 0, fmt.Errorf("info to %s: %w", m.Name(), err)
	}
	_, used, _ := strings.Cut(fmt.Sprint(info), "used_memory:")
	used, _, _ = strings.Cut(used, "\r")
	return strconv.Atoi(used)
}

// applyOldFile turns the AOF on again only after an error. Otherwise the configuration does so when the masters start.
func applyOldFile(ctx context.Context, f Fault, env *Env, all []cluster.Master) error {
	off, on := set("appendonly", "no"), set("appendonly", "yes")
	if err := each(all, func(m cluster.Master) error { return off(f, env, m) }); err != nil {
		return errors.Join(err, each(all, func(m cluster.Master) error { return on(f, env, m) }))
	}
	Wait(ctx, f.Delay)
	return spanned(kill, start)(ctx, f, env, all)
}

func applyReplicaOf(ctx context.Context, f Fault, env *Env, all []cluster.Master) error {
	leaders, err := env.mastersOf(f.Spare)
	if err != nil {
		return err
	}
	return during(ctx, f.Span, all,
		func(m cluster.Master) error { return m.ReplicaOf(leaders[0]) },
		func(m cluster.Master) error {
			err := m.ReplicaOf(nil)
			if err == nil {
				untilNoted(ctx, env, m)
			}
			return err
		})
}

func applyBusy(ctx context.Context, f Fault, _ *Env, all []cluster.Master) error {
	return each(all, func(m cluster.Master) error {
		release, err := m.Occupy()
		if err != nil {
			return err
		}
		Wait(ctx, f.Span)
		return release()
	})
}

// mislead sets the offset of all masters' clocks to the result of offset(), at the beginning of the span and after each
// step. At the end of the span, it sets the offset to 0.
func mislead(ctx context.Context, f Fault, env *Env, all []cluster.Master, step time.Duration, offset func(since time.Duration) time.Duration) error {
	set := func(offset time.Duration) error {
		return each(all, func(m cluster.Master) error {
			if err := m.SetClock(offset); err != nil {
				return err
			}
			env.Emit(history.Event{Kind: history.MasterClock, Master: m.Name(), Offset: offset})
			return nil
		})
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, f.Span)
	defer cancel()
	err := set(offset(0))
	for Wait(ctx, step); err == nil && ctx.Err() == nil; Wait(ctx, step) {
		err = set(offset(time.Since(began)))
	}
	return errors.Join(err, set(0))
}

func applyClock(ctx context.Context, f Fault, env *Env, all []cluster.Master) error {
	return mislead(ctx, f, env, all, f.Span+time.Second, func(time.Duration) time.Duration { return f.Offset })
}

func applyStrobe(ctx context.Context, f Fault, env *Env, all []cluster.Master) error {
	var is time.Duration
	return mislead(ctx, f, env, all, max(f.Period, time.Millisecond), func(time.Duration) time.Duration {
		is = f.Offset - is
		return is
	})
}

func applyDrift(ctx context.Context, f Fault, env *Env, all []cluster.Master) error {
	return mislead(ctx, f, env, all, 50*time.Millisecond, func(since time.Duration) time.Duration {
		return time.Duration(float64(since) * f.Percent / 100)
	})
}
