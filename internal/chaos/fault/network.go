package fault

import (
	"context"
	"errors"
	"sync"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/faultproxy"
)

// onFronts calls begin() for all fronts that f names, and end() after the span.
func onFronts(ctx context.Context, f Fault, env *Env, begin, end func(*faultproxy.Proxy)) error {
	fronts, err := env.fronts(f)
	if err != nil {
		return err
	}
	return during(ctx, f.Span, fronts,
		func(p *faultproxy.Proxy) error { begin(p); return nil },
		func(p *faultproxy.Proxy) error { end(p); return nil })
}

func (d Direction) hits() (toServer, toClient bool) { return d != ToClient, d != ToServer }

func applyPartition(ctx context.Context, f Fault, env *Env, _ []cluster.Master) error {
	return onFronts(ctx, f, env, func(p *faultproxy.Proxy) { p.Partition(f.Direction.hits()) }, (*faultproxy.Proxy).Heal)
}

func applyStall(ctx context.Context, f Fault, env *Env, _ []cluster.Master) error {
	return onFronts(ctx, f, env, func(p *faultproxy.Proxy) { p.Stall(f.Direction.hits()) }, (*faultproxy.Proxy).Heal)
}

func applyDelay(ctx context.Context, f Fault, env *Env, _ []cluster.Master) error {
	return onFronts(ctx, f, env,
		func(p *faultproxy.Proxy) { p.Latency(f.Delay) },
		func(p *faultproxy.Proxy) { p.Latency(0) })
}

func applyAstray(ctx context.Context, f Fault, env *Env, all []cluster.Master) error {
	there := f
	there.Masters = f.Spare
	if _, err := env.mastersOf(f.Spare); err != nil {
		return err
	}
	to, err := env.fronts(there)
	if err != nil {
		return err
	}
	fronts, err := env.fronts(f)
	if err != nil {
		return err
	}
	leads := map[*faultproxy.Proxy]*faultproxy.Proxy{}
	for i, p := range fronts {
		leads[p] = to[i/len(all)]
	}
	return onFronts(ctx, f, env, func(p *faultproxy.Proxy) { p.Divert(leads[p]) }, func(p *faultproxy.Proxy) { p.Divert(nil) })
}

func applyRule(ctx context.Context, f Fault, env *Env, _ []cluster.Master) error {
	fronts, err := env.fronts(f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, f.Span)
	defer cancel()
	var wg sync.WaitGroup
	for _, p := range fronts {
		wg.Go(func() { repeat(ctx, p, faultproxy.Rule{Nth: f.Every, Do: f.action()}) })
	}
	wg.Wait()
	return nil
}

// repeat adds the rule to the proxy, and adds it again whenever the rule has acted, until ctx ends.
func repeat(ctx context.Context, p *faultproxy.Proxy, r faultproxy.Rule) {
	for ctx.Err() == nil {
		acting := p.Add(r)
		select {
		case <-acting.Seen():
		case <-ctx.Done():
		}
		acting.Remove()
	}
}

func (f Fault) action() faultproxy.Action {
	switch {
	case f.Kind == DropRequest:
		return faultproxy.DropRequest
	case f.Kind == DropReply:
		return faultproxy.DropReply
	case f.Kind == Duplicate:
		return faultproxy.DuplicateRequest
	case f.Kind == LateCopy:
		return faultproxy.CopyRequest(f.Delay)
	case f.Direction == ToClient:
		return faultproxy.CutReplyAt(f.Bytes)
	default:
		return faultproxy.CutRequestAt(f.Bytes)
	}
}

// onClients calls begin() for all client processes that f names, and end() after the span.
func onClients(ctx context.Context, f Fault, env *Env, begin, end func(client string) error) error {
	if env.Processes == nil {
		return errors.New("there are no client processes")
	}
	return during(ctx, f.Span, f.Clients.Names(env.World.Clients()), begin, end)
}

// The history records the stop of a client after the client has stopped, and the start of a client before the client
// continues. So it never shows a stopped or dead client at work.

func applyStopClient(ctx context.Context, f Fault, env *Env, _ []cluster.Master) error {
	return onClients(ctx, f, env, func(client string) error {
		if err := env.Processes.Stop(client); err != nil {
			return err
		}
		env.clientEvent(history.ClientStopped, client)
		return nil
	}, func(client string) error {
		env.clientEvent(history.ClientGoesOn, client)
		return env.Processes.Continue(client)
	})
}

func applyKillClient(ctx context.Context, f Fault, env *Env, _ []cluster.Master) error {
	return onClients(ctx, f, env, env.killClient, env.restartClient)
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

// RestartClient kills a client process and starts it again.
func (e *Env) RestartClient(client string) error {
	if err := e.killClient(client); err != nil {
		return err
	}
	return e.restartClient(client)
}
