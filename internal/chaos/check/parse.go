package check

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// parser makes a record of events. An inconsistent history is itself a violation, because it cannot be judged.
type parser struct {
	*record
	verdict *Verdict

	asking    map[callKey]*ask
	entered   map[callKey]handle // by the entry's call
	accessing map[callKey]*access
	known     map[string]bool
	failing   map[string][]int // the faults under way, by their text
	forcing   map[callKey]*force
}

// handle is an entry with its hold.
type handle struct {
	hold  *hold
	entry *entry
}

// callKey identifies a call among the calls of all clients.
type callKey struct {
	client string
	call   int64
}

// parse returns the record of events, and counts them in verdict. The events must be in the order of At.
func parse(events []history.Event, verdict *Verdict) *record {
	p := &parser{
		record: &record{
			holds:    map[string][]*hold{},
			accesses: map[register][]*access{},
			stops:    map[string][]span{},
			deaths:   map[string][]time.Duration{},
			reach:    map[string]fault.Masters{},
			forces:   map[string][]*force{},
		},
		verdict:   verdict,
		asking:    map[callKey]*ask{},
		entered:   map[callKey]handle{},
		accessing: map[callKey]*access{},
		known:     map[string]bool{},
		failing:   map[string][]int{},
		forcing:   map[callKey]*force{},
	}
	verdict.FaultsByKind, verdict.FailedByKind = map[string]int{}, map[string]int{}
	for _, e := range events {
		p.take(e)
	}
	p.forcedOff()
	p.faults = slices.DeleteFunc(p.faults, func(f trouble) bool { return f.none })
	return p.record
}

func (p *parser) take(e history.Event) {
	p.horizon = e.At
	key := callKey{e.Client, e.Call}
	switch e.Kind {
	case history.LockBegins:
		a := &ask{
			client: e.Client, name: e.Name, waits: e.Waits, reads: e.Reads, set: e.Set, depth: e.Depth, watched: e.Watched, ttl: e.TTL, from: e.At, to: never,
			under: p.entered[callKey{e.Client, e.Of}].hold,
		}
		if e.Set > 0 {
			a.of, a.under = callKey{e.Client, e.Of}, nil
		}
		p.asking[key] = a
		p.asks = append(p.asks, a)
		if !p.known[e.Name] {
			p.known[e.Name] = true
			p.names = append(p.names, e.Name)
		}
	case history.LockHeld, history.LockFailed:
		p.answer(e, key)
	case history.Renewed, history.ContextEnded, history.DowngradeBegins, history.DowngradeEnds, history.UnlockBegins, history.UnlockEnds:
		p.change(e, key)
	case history.WriteBegins, history.ReadBegins:
		p.access(e, key)
	case history.WriteEnds, history.ReadEnds:
		p.accessed(e, key)
	case history.PhaseBegins:
		if n := len(p.phases); n > 0 {
			p.phases[n-1].to = e.At
		}
		p.phases = append(p.phases, phase{e.Phase, span{e.At, never}})
	case history.Members:
		p.members = append(p.members, membership{e.At, p.masters(e)})
	case history.FaultBegins:
		p.faultBegins(e)
	case history.FaultEnds:
		p.faultEnds(e)
	case history.ForceBegins, history.ForceEnds:
		p.force(e, key)
	case history.ClientStarts:
		if e.Masters != "" {
			p.reach[e.Client] = p.masters(e)
		}
	case history.ClientStopped:
		p.stops[e.Client] = append(p.stops[e.Client], span{e.At, never})
	case history.ClientGoesOn, history.ClientKilled:
		p.goesOn(e)
	}
}

func (p *parser) faultBegins(e history.Event) {
	f, err := fault.Parse(e.Fault)
	if err != nil {
		p.broken(e, err.Error())
	}
	p.verdict.Faults++
	p.verdict.FaultsByKind[string(fault.KindOf(e.Fault))]++
	p.failing[e.Fault] = append(p.failing[e.Fault], len(p.faults))
	p.faults = append(p.faults, trouble{Fault: f, span: span{e.At, never}})
}

// faultEnds records the end of a fault. A fault that failed is counted apart, but may have hurt masters, so it excuses
// failures as usual. A fault that the masters do not support hurt nothing, and excuses nothing.
func (p *parser) faultEnds(e history.Event) {
	begun := p.failing[e.Fault]
	if len(begun) == 0 {
		p.broken(e, "no such fault is under way")
		return
	}
	f := &p.faults[begun[0]]
	f.to = e.At
	p.failing[e.Fault] = begun[1:]
	if e.Err != "" {
		f.none = strings.Contains(e.Err, errors.ErrUnsupported.Error())
		kind := string(fault.KindOf(e.Fault))
		p.verdict.Faults--
		if p.verdict.FaultsByKind[kind]--; p.verdict.FaultsByKind[kind] == 0 {
			delete(p.verdict.FaultsByKind, kind)
		}
		p.verdict.Failures++
		p.verdict.FailedByKind[kind]++
	}
}

func (p *parser) masters(e history.Event) fault.Masters {
	some, err := fault.ParseMasters(e.Masters)
	if err != nil {
		p.broken(e, err.Error())
	}
	return some
}

func (p *parser) answer(e history.Event, key callKey) {
	a := p.asking[key]
	if a == nil || a.to != never || a.name != e.Name {
		p.broken(e, "no call for that lock is under way")
		return
	}
	p.verdict.Operations++
	a.to, a.held, a.token, a.err = e.At, e.Kind == history.LockHeld, e.Token, e.Err
	switch {
	case !a.held:
		p.verdict.Failed++
	case a.depth == 1:
		p.verdict.Holds++
		a.hold = &hold{
			client: e.Client, name: e.Name, owner: e.Owners, set: a.of, token: e.Token, reads: a.reads, last: e.Last, watched: a.watched, ttl: a.ttl, asked: a.from, held: e.At,
			longest: a.ttl, down: never, lost: never, left: never, freed: never, died: never,
		}
		a.hold.lasts(e)
		if a.reads {
			p.verdict.Reads++
		}
		if a.set > 0 {
			p.verdict.InSets++
		}
		p.holds[e.Name] = append(p.holds[e.Name], a.hold)
		p.enter(key, a)
	default:
		p.verdict.Reentries++
		if a.hold = a.under; a.hold == nil && e.Token != 0 {
			a.hold = p.holdOf(e.Client, e.Name, e.Token)
		}
		if a.hold == nil || a.hold.name != e.Name {
			p.broken(e, "it re-entered a hold that is not there")
			return
		}
		a.hold.longest = max(a.hold.longest, a.ttl)
		a.hold.lasts(e)
		p.enter(key, a)
	}
}

// enter adds an entry for the ask to the ask's hold.
func (p *parser) enter(key callKey, a *ask) {
	one := &entry{depth: a.depth, token: a.token, over: never, left: never, freed: never}
	a.hold.entries = append(a.hold.entries, one)
	p.entered[key] = handle{a.hold, one}
}

func (p *parser) change(e history.Event, key callKey) {
	at := p.entered[key]
	if at.hold == nil || at.entry.token != e.Token {
		p.broken(e, "nothing is held by that call")
		return
	}
	h, one := at.hold, at.entry
	switch e.Kind {
	case history.Renewed:
		if e.Until > h.until { // otherwise another name of the set was renewed
			p.verdict.Renewals++
			h.lasts(e)
		}
	case history.ContextEnded:
		if e.At < one.over {
			one.over, one.ended = e.At, e.Err
		}
		h.lasts(e)
		if e.Err != history.ErrCanceled && h.lost == never {
			p.verdict.ContextsEnded++
			h.lost = e.At
		}
	case history.DowngradeBegins:
		if !h.reads {
			h.down = min(h.down, e.At)
		}
		h.downs = append(h.downs, span{e.At, never})
	case history.DowngradeEnds:
		n := len(h.downs)
		if n == 0 || h.downs[n-1].to != never {
			p.broken(e, "no downgrade is under way")
			return
		}
		p.verdict.Operations++
		h.downs[n-1].to = e.At
		h.lasts(e)
		if e.Err == "" && !h.reads {
			p.verdict.Downgrades++
		}
	case history.UnlockBegins:
		one.left, one.after = e.At, e.Depth
		h.lasts(e)
		if e.Depth == 0 {
			h.left = e.At
		}
	case history.UnlockEnds:
		p.verdict.Operations++
		one.freed, one.err = e.At, e.Err
		h.lasts(e)
		if e.Depth == 0 {
			h.freed, h.err = e.At, e.Err
		}
	}
}

// lasts records the end of the lease that an event reports, and whether that end is too late.
func (h *hold) lasts(e history.Event) {
	h.until = max(h.until, e.Until)
	if h.tooLong == 0 && h.longest > 0 && e.Until > e.At+h.longest+reading {
		h.tooLong, h.longAt = e.Until, e.At
	}
}

func (p *parser) access(e history.Event, key callKey) {
	a := &access{
		client: e.Client, store: e.Store, name: e.Name, write: e.Kind == history.WriteBegins,
		token: e.Token, value: e.Value, from: e.At, to: never, err: history.ErrUnknown,
	}
	r := register{e.Store, e.Name}
	if p.accesses[r] == nil {
		p.registers = append(p.registers, r)
	}
	p.accessing[key] = a
	p.accesses[r] = append(p.accesses[r], a)
}

func (p *parser) accessed(e history.Event, key callKey) {
	a := p.accessing[key]
	if a == nil || a.to != never || a.store != e.Store || a.name != e.Name {
		p.broken(e, "no such access is under way")
		return
	}
	p.verdict.Operations++
	a.to, a.err, a.value = e.At, e.Err, e.Value
	switch {
	case e.Err == history.ErrRefused && e.Store != history.Unguarded:
		p.verdict.Refused++
	case e.Err == history.ErrUnknown:
		p.verdict.Unknown++
	}
}

// goesOn records that a client was killed, or runs again after a stop. A kill also ends the client's calls and holds.
func (p *parser) goesOn(e history.Event) {
	if stops := p.stops[e.Client]; len(stops) > 0 {
		stops[len(stops)-1].to = min(stops[len(stops)-1].to, e.At)
	}
	if e.Kind != history.ClientKilled {
		return
	}
	p.deaths[e.Client] = append(p.deaths[e.Client], e.At)
	for key, a := range p.asking {
		if key.client == e.Client && a.to == never {
			a.to, a.err = e.At, history.ErrCanceled
		}
	}
	for key, a := range p.accessing {
		if key.client == e.Client && a.to == never {
			a.to = e.At
		}
	}
	for key, at := range p.entered {
		if h := at.hold; key.client == e.Client && h.died == never && h.freed == never {
			h.died = e.At
			if h.until > e.At {
				p.verdict.Killed++
			}
		}
	}
}

func (p *parser) broken(e history.Event, why string) {
	p.verdict.violate(BrokenRecord, e.At, "%s of call %d of %s on %s: %s", e.Kind, e.Call, e.Client, e.Name, why)
}

// seconds formats a time for the texts of violations.
func seconds(d time.Duration) string {
	if d == never {
		return "the end"
	}
	return d.Round(10 * time.Microsecond).String()
}
