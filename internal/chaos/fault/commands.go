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

// commandTimeout is for a server that should answer.
const commandTimeout = 5 * time.Second

// command sends one command to the server, also when the run is over: it may be what heals.
func command(m cluster.Master, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	_, err := m.Do(ctx, args...)
	if err != nil {
		return fmt.Errorf("%s to %s: %w", args[0], m.Name(), err)
	}
	return nil
}

func applyFlushAll(_ context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	return each(all, func(m cluster.Master) error {
		if err := command(m, "flushall"); err != nil {
			return err
		}
		env.masterEvent(history.MasterWiped, m)
		return nil
	})
}

func applyScriptFlush(_ context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	return each(all, func(m cluster.Master) error { return command(m, "script", "flush") })
}

func applyOOM(ctx context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	limit := func(bytes int) func(cluster.Master) error {
		return func(m cluster.Master) error { return command(m, "config", "set", "maxmemory", bytes) }
	}
	err = each(all, limit(1))
	if err == nil {
		wait(ctx, f.Span)
	}
	return errors.Join(err, each(all, limit(0)))
}

// endless writes nothing, so that SCRIPT KILL ends it.
const endless = "while true do end"

func applyBusy(ctx context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	return each(all, func(m cluster.Master) error {
		// From 50 ms on the server says BUSY to others; before, they wait.
		if err := command(m, "config", "set", "lua-time-limit", 50); err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() {
			// The answer is that it was killed, or none when the span is longer than the patience of the client.
			_, err := m.Do(context.Background(), "eval", endless, 0)
			ended <- err
		}()
		wait(ctx, f.Span)
		err := endScript(m)
		<-ended
		return errors.Join(err, command(m, "config", "set", "lua-time-limit", 5000))
	})
}

// endScript ends a script of which the server has come to say BUSY.
func endScript(m cluster.Master) error {
	deadline := time.Now().Add(commandTimeout)
	for {
		err := command(m, "script", "kill")
		if err == nil || !strings.Contains(err.Error(), "NOTBUSY") || time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond) // it was not yet begun
	}
}
