package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// kill tells the history before the master is gone, and whether what it knew is.
func kill(env *Env, m cluster.Master, lost bool) error {
	lost = lost || env.World.Fsync() == cluster.None
	env.Emit(history.Event{Kind: history.MasterDown, Master: m.Name(), Lost: lost})
	return m.Kill()
}

func start(env *Env, m cluster.Master) error {
	if err := m.Start(); err != nil {
		return err
	}
	env.masterEvent(history.MasterUp, m)
	return nil
}

// crash kills all, does something to each while they are down, and starts them after the span.
func crash(ctx context.Context, f Fault, env *Env, lost bool, down func(cluster.Master) error) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	err = each(all, func(m cluster.Master) error {
		if err := kill(env, m, lost); err != nil {
			return err
		}
		return down(m)
	})
	if err == nil {
		Wait(ctx, f.Span)
	}
	return errors.Join(err, each(all, func(m cluster.Master) error { return start(env, m) }))
}

func applyKill(ctx context.Context, f Fault, env *Env) error {
	if f.Data == Lost {
		return crash(ctx, f, env, true, cluster.Master.Wipe)
	}
	return crash(ctx, f, env, false, func(cluster.Master) error { return nil })
}

func applyTruncate(ctx context.Context, f Fault, env *Env) error {
	return crash(ctx, f, env, true, func(m cluster.Master) error { return m.Truncate(int64(f.Bytes)) })
}

func applyRestore(ctx context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	if err := each(all, cluster.Master.Backup); err != nil {
		return err
	}
	Wait(ctx, f.Delay)
	return crash(ctx, f, env, true, cluster.Master.Restore)
}

func applyRollingRestart(ctx context.Context, f Fault, env *Env) error {
	for _, n := range f.Masters.Numbers() {
		one := f
		one.Masters = MastersOf(n)
		if err := crash(ctx, one, env, false, func(cluster.Master) error { return nil }); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

func applyFreeze(ctx context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	err = each(all, func(m cluster.Master) error {
		if err := m.Freeze(); err != nil {
			return err
		}
		env.masterEvent(history.MasterFrozen, m)
		return nil
	})
	if err == nil {
		Wait(ctx, f.Span)
	}
	return errors.Join(err, each(all, func(m cluster.Master) error { return thaw(env, m) }))
}

func applyThaw(_ context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	return each(all, func(m cluster.Master) error { return thaw(env, m) })
}

// thaw tells the history before the master goes on.
func thaw(env *Env, m cluster.Master) error {
	if !m.Frozen() {
		return nil
	}
	env.masterEvent(history.MasterThawed, m)
	return m.Thaw()
}

func applyPromote(ctx context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	err = each(all, func(m cluster.Master) error {
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
			return errors.Join(err, start(env, m))
		}
		env.masterEvent(history.MasterUp, m)
		untilNoted(ctx, env, m)
		return nil
	})
}

// untilNoted waits until a client has noted on a promoted master that it may have forgotten
// something, or has made it a new member. Redis says that it was a replica until it stops, and then
// nothing does: see docs/OPERATIONS.md.
func untilNoted(ctx context.Context, env *Env, m cluster.Master) {
	until(ctx, func() bool {
		fields, err := registered(ctx, env, m, "durable", "run")
		info, infoErr := m.Do(ctx, "info", "server")
		return err == nil && infoErr == nil && (fields[0] != "yes" || strings.Contains(info.(string), "run_id:"+fmt.Sprint(fields[1])))
	})
}

// registered returns what a master has in fields of its register; nil is what it does not have.
func registered(ctx context.Context, env *Env, m cluster.Master, fields ...any) ([]any, error) {
	values, err := m.Do(ctx, append([]any{"hmget", env.Register}, fields...)...)
	if err != nil {
		return nil, fmt.Errorf("hmget to %s: %w", m.Name(), err)
	}
	return values.([]any), nil
}

// syncTimeout is for a replica to get all data.
const syncTimeout = 30 * time.Second

func applyDiskFull(ctx context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	return each(all, func(m cluster.Master) error {
		if err := m.FillDisk(); err != nil {
			return errors.Join(err, m.FreeDisk())
		}
		told := watch(ctx, f.Span, env, m)
		err := m.FreeDisk()
		if m.Running() {
			return err
		}
		if !told {
			env.masterEvent(history.MasterDown, m)
		}
		return errors.Join(err, start(env, m))
	})
}

// watch returns after the span. When the master ends by itself before, it tells the history and
// returns true.
func watch(ctx context.Context, span time.Duration, env *Env, m cluster.Master) (ended bool) {
	over := time.Now().Add(span)
	for time.Now().Before(over) && ctx.Err() == nil {
		if !m.Running() {
			env.masterEvent(history.MasterDown, m)
			Wait(ctx, time.Until(over))
			return true
		}
		Wait(ctx, 20*time.Millisecond)
	}
	return false
}
