package fault

import (
	"time"
)

// draw draws a fault of the kind. can is false if no such fault is possible now: too many masters would be hurt, no
// spare is free, or no other server is left.
func (g *generator) draw(k Kind) (f Fault, can bool) {
	f = g.parameters(k)
	if k == Replace || k == Add {
		if f.Spare, can = g.spare(); !can {
			return Fault{}, false
		}
	}
	if k != StopClient && k != KillClient && k != Force {
		if f.Masters, can = g.pick(f); !can {
			return Fault{}, false
		}
	}
	if k == ReplicaOf || k == Astray {
		if f.Spare, can = g.other(f.Masters); !can {
			return Fault{}, false
		}
	}
	if k.is(hitsClients) {
		f.Clients = g.clients()
	}
	g.remember(f)
	if k == Add {
		f.Spare = 0 // the added spare is in f.Masters
	}
	return f, true
}

// parameters returns a fault of the kind with random parameters, but without masters and clients.
func (g *generator) parameters(k Kind) Fault {
	f := Fault{Kind: k, Span: g.between(g.TTL/4, g.TTL*2)}
	switch k {
	case Kill:
		f.Data = oneOf(g, Kept, Lost)
	case RollingRestart:
		f.Span = g.between(0, g.TTL/4)
	case Promote:
		f.Span, f.Delay = 0, g.between(0, g.TTL)
	case Restore:
		f.Delay = g.between(0, g.TTL)
	case OldFile:
		f.Delay = g.between(g.TTL/4, g.TTL)
	case FlushAll, ScriptFlush:
		f.Span = 0
	case Clock:
		f.Offset = oneOf[time.Duration](g, 1, 1, -1) * oneOf(g, g.between(g.TTL, g.TTL*10), time.Hour)
	case Strobe:
		f.Offset, f.Period = oneOf[time.Duration](g, 1, -1)*g.between(g.TTL, g.TTL*10), 200*time.Millisecond
	case Drift:
		if f.Percent = oneOf(g, allowedDrift, -allowedDrift, 20, -20); g.InModel {
			f.Percent = allowedDrift / 2 // not more, because the clock drifts in steps, and a late step is larger
		}
	case Partition, Stall:
		f.Direction = oneOf(g, ToServer, ToClient, Both)
	case Delay:
		f.Delay = g.between(time.Millisecond, 100*time.Millisecond)
	case DropRequest, DropReply, Duplicate:
		f.Every = 1 + g.rand.IntN(10)
	case LateCopy:
		f.Every, f.Delay = 1+g.rand.IntN(10), g.between(time.Millisecond, 100*time.Millisecond)
	case Cut:
		f.Direction, f.Bytes, f.Every = oneOf(g, ToServer, ToClient), g.rand.IntN(200), 1+g.rand.IntN(10)
	case Suspend, Replace, Add, Remove:
		f.Span, f.Delay = g.between(0, g.TTL*4), oneOf(g, 0, g.between(time.Millisecond, max(g.Quarantine/2, g.TTL)))
	case StopClient:
		f.Span = g.between(g.TTL*3/2, g.TTL*3)
	case Force:
		f.Span, f.Lock, f.Delay = 0, g.rand.IntN(g.Locks), oneOf(g, 0, g.between(time.Millisecond, 100*time.Millisecond))
	}
	return f
}

// pick draws the masters for a fault. In the model, these masters and the masters that are unreliable now are together
// a minority, with the exceptions of Plan.InModel. Out of the model, a fault that loses data or makes clocks wrong hits
// more than a minority.
func (g *generator) pick(f Fault) (some Masters, can bool) {
	all := MastersOf(g.rand.Perm(g.Plan.Masters)...)
	switch {
	case f.Kind == Add:
		return f.Spare, !g.InModel || (f.Spare|g.unwell()).Count() <= Minority(g.Plan.Masters)
	case f.Kind.is(changes) && !g.InModel:
		return g.some(1), true
	case f.Kind == Replace || f.Kind == Remove:
		some = g.some(1)
		return some, (some | g.unwell()).Count() <= Minority(g.Plan.Masters)
	case f.Kind == RollingRestart:
		return all, !g.InModel || g.unwell() == 0 && Minority(g.Plan.Masters) > 0 && g.weak.Count() <= Minority(g.Plan.Masters)
	case f.Kind.is(hitsClients) || f.Kind == ScriptFlush || f.allowedFor():
		return g.drag(g.some(all.Count())), true
	case !g.InModel && (f.forgets() || f.misleads()):
		return g.drag(g.sized(Minority(g.Plan.Masters)+1, all.Count())), true
	case !g.InModel:
		return g.drag(g.some(all.Count())), true
	}
	some = g.some(max(Minority(g.Plan.Masters), 1))
	if !f.Kind.is(changes) {
		some = g.drag(some)
	}
	return some, (some | g.unwell()).Count() <= Minority(g.Plan.Masters)
}

// spare returns a spare that no change holds.
func (g *generator) spare() (Masters, bool) {
	for n := g.Plan.Masters; n < g.Plan.Masters+g.Spares; n++ {
		if g.used[n] <= g.now {
			return MastersOf(n), true
		}
	}
	return 0, false
}

// other returns a random master or spare that is not in the given set.
func (g *generator) other(some Masters) (Masters, bool) {
	for _, n := range g.rand.Perm(g.Plan.Masters + g.Spares) {
		if one := MastersOf(n); one&some == 0 {
			return one, true
		}
	}
	return 0, false
}

// some returns a random number of random masters, from 1 to most.
func (g *generator) some(most int) Masters { return g.sized(1, most) }

func (g *generator) sized(least, most int) Masters {
	n := least + g.rand.IntN(most-least+1)
	return MastersOf(g.rand.Perm(g.Plan.Masters)[:n]...)
}

// drag returns the given masters and a random part of the spares that a change holds now.
func (g *generator) drag(some Masters) Masters {
	for n := g.Plan.Masters; n < g.Plan.Masters+g.Spares; n++ {
		if g.used[n] > g.now && g.rand.IntN(2) == 0 {
			some |= MastersOf(n)
		}
	}
	return some
}

// clients returns random clients, or All.
func (g *generator) clients() Clients {
	n := 1 + g.rand.IntN(len(g.Clients))
	if n == len(g.Clients) {
		return All
	}
	var names []string
	for _, i := range g.rand.Perm(len(g.Clients))[:n] {
		names = append(names, g.Clients[i])
	}
	return ClientsOf(names...)
}

// unwell returns the masters that are unreliable now.
func (g *generator) unwell() Masters {
	var some Masters
	for n, until := range g.hurt {
		if until > g.now {
			some |= MastersOf(n)
		}
	}
	return some
}

// remember records until when the fault makes its masters unreliable or hinders them, and until when it needs its spare.
func (g *generator) remember(f Fault) {
	until := g.now
	some, during := f.unsure(g.weak, g.Quarantine)
	if some != 0 {
		until += during
	} else if f.Kind.is(hinders) {
		until += f.Lasts() + Slack
	}
	g.weak = f.weakens(g.weak)
	if f.Kind.is(changes) {
		for _, n := range f.Spare.Numbers() {
			g.used[n] = until
		}
	}
	for _, n := range f.Masters.Numbers() {
		g.hurt[n] = max(g.hurt[n], until)
	}
}

// between returns a random duration from least to most, in whole milliseconds.
func (g *generator) between(least, most time.Duration) time.Duration {
	return round(least + time.Duration(g.rand.Int64N(int64(most-least)+1)))
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

func oneOf[T any](g *generator, of ...T) T { return of[g.rand.IntN(len(of))] }
