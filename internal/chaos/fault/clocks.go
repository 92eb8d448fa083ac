package fault

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

func setClock(env *Env, m cluster.Master, offset time.Duration) error {
	if err := m.SetClock(offset); err != nil {
		return err
	}
	env.Emit(history.Event{Kind: history.MasterClock, Master: m.Name(), Offset: offset})
	return nil
}

// mislead lets move set the clocks of all until the span is over, and sets them right again.
func mislead(ctx context.Context, f Fault, env *Env, move func(ctx context.Context, set func(time.Duration) error) error) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	set := func(offset time.Duration) error {
		return each(all, func(m cluster.Master) error { return setClock(env, m, offset) })
	}
	during, cancel := context.WithTimeout(ctx, f.Span)
	defer cancel()
	if err := move(during, set); err != nil {
		return errors.Join(err, set(0))
	}
	<-during.Done()
	return set(0)
}

func applyClock(ctx context.Context, f Fault, env *Env) error {
	return mislead(ctx, f, env, func(_ context.Context, set func(time.Duration) error) error { return set(f.Offset) })
}

func applyStrobe(ctx context.Context, f Fault, env *Env) error {
	period := max(f.Period, time.Millisecond)
	return mislead(ctx, f, env, func(ctx context.Context, set func(time.Duration) error) error {
		for next := f.Offset; ctx.Err() == nil; next = f.Offset - next {
			if err := set(next); err != nil {
				return err
			}
			Wait(ctx, period)
		}
		return nil
	})
}

func applyDrift(ctx context.Context, f Fault, env *Env) error {
	const step = 50 * time.Millisecond
	began := time.Now()
	return mislead(ctx, f, env, func(ctx context.Context, set func(time.Duration) error) error {
		for ctx.Err() == nil {
			if err := set(time.Duration(float64(time.Since(began)) * f.Percent / 100)); err != nil {
				return err
			}
			Wait(ctx, step)
		}
		return nil
	})
}
