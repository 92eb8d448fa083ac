package fault

import (
	"context"
	"errors"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// hurt does something to all client processes that f names, and mends it after the span.
func hurt(ctx context.Context, f Fault, env *Env, begin, end func(client string) error) error {
	if env.Processes == nil {
		return errors.New("there are no client processes")
	}
	clients := f.Clients.Names(env.World.Clients())
	err := each(clients, begin)
	if err == nil {
		Wait(ctx, f.Span)
	}
	return errors.Join(err, each(clients, end))
}

// What a client does not do is told after it has stopped, and what it may do before it goes on: the
// history never shows a client at work that is stopped or dead.
func (e *Env) stopClient(client string) error {
	if err := e.Processes.Stop(client); err != nil {
		return err
	}
	e.clientEvent(history.ClientStopped, client)
	return nil
}

func (e *Env) continueClient(client string) error {
	e.clientEvent(history.ClientGoesOn, client)
	return e.Processes.Continue(client)
}

func (e *Env) killClient(client string) error {
	if err := e.Processes.Kill(client); err != nil {
		return err
	}
	e.clientEvent(history.ClientKilled, client)
	return nil
}

func (e *Env) restartClient(client string) error {
	e.clientEvent(history.ClientStarts, client)
	return e.Processes.Restart(client)
}

// RestartClient ends a client process and starts it again.
func (e *Env) RestartClient(client string) error {
	if err := e.killClient(client); err != nil {
		return err
	}
	return e.restartClient(client)
}

func applyStopClient(ctx context.Context, f Fault, env *Env) error {
	return hurt(ctx, f, env, env.stopClient, env.continueClient)
}

func applyKillClient(ctx context.Context, f Fault, env *Env) error {
	return hurt(ctx, f, env, env.killClient, env.restartClient)
}
