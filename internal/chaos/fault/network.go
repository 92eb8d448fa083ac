package fault

import (
	"context"
	"sync"

	"github.com/redlock-go/redlock/internal/faultproxy"
)

// during does something to all fronts that f names, and undoes it after the span.
func during(ctx context.Context, f Fault, env *Env, begin, end func(*faultproxy.Proxy)) error {
	fronts, err := env.fronts(f)
	if err != nil {
		return err
	}
	for _, p := range fronts {
		begin(p)
	}
	Wait(ctx, f.Span)
	for _, p := range fronts {
		end(p)
	}
	return nil
}

func (d Direction) hits() (toServer, toClient bool) { return d != ToClient, d != ToServer }

func applyPartition(ctx context.Context, f Fault, env *Env) error {
	return during(ctx, f, env, func(p *faultproxy.Proxy) { p.Partition(f.Direction.hits()) }, (*faultproxy.Proxy).Heal)
}

func applyStall(ctx context.Context, f Fault, env *Env) error {
	return during(ctx, f, env, func(p *faultproxy.Proxy) { p.Stall(f.Direction.hits()) }, (*faultproxy.Proxy).Heal)
}

func applyDelay(ctx context.Context, f Fault, env *Env) error {
	return during(ctx, f, env,
		func(p *faultproxy.Proxy) { p.Latency(f.Delay) },
		func(p *faultproxy.Proxy) { p.Latency(0) })
}

func applyAstray(ctx context.Context, f Fault, env *Env) error {
	there := f
	there.Masters = f.Spare
	to, err := env.fronts(there)
	if err != nil {
		return err
	}
	n := -1 // fronts are those of the first client, of the second and so on
	return during(ctx, f, env, func(p *faultproxy.Proxy) {
		n++
		p.Divert(to[n/f.Masters.Count()])
	}, func(p *faultproxy.Proxy) { p.Divert(nil) })
}

func applyRule(ctx context.Context, f Fault, env *Env) error {
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

// repeat puts the rule to work again each time that it has acted, until ctx ends.
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
