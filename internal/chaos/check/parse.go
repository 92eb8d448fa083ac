package check

import (
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// parser makes a record out of events. What does not fit together is a violation
// of its own: a harness that has lost the thread must not judge.
type parser struct {
	*record
	verdict *Verdict

	asking    map[callKey]*ask
	entered   map[callKey]*hold // by the call of each entry
	accessing map[callKey]*access
	known     map[string]bool
	failing   map[string][]int // the faults under way, by what they are called
}

// callKey names a call: of all clients, and of all lives of one, it is another.
type callKey struct {
	client string
	call   int64
}

// parse reads events, which are in the order of At, and counts them in verdict.
func parse(events []history.Event, verdict *Verdict) *record {
	p := &parser{
		record: &record{
			holds:    map[string][]*hold{},
			accesses: map[register][]*access{},
			stops:    map[string][]span{},
		},
		verdict:   verdict,
		asking:    map[callKey]*ask{},
		entered:   map[callKey]*hold{},
		accessing: map[callKey]*access{},
		known:     map[string]bool{},
		failing:   map[string][]int{},
	}
	verdict.FaultsByKind = map[string]int{}
	for _, e := range events {
		p.take(e)
	}
	return p.record
}

func (p *parser) take(e history.Event) {
	p.horizon = e.At
	key := callKey{e.Client, e.Call}
	switch e.Kind {
	case history.LockBegins:
		a := &ask{client: e.Client, name: e.Name, waits: e.Waits, depth: e.Depth, from: e.At, to: never}
		p.asking[key] = a
		p.asks = append(p.asks, a)
		if !p.known[e.Name] {
			p.known[e.Name] = true
			p.names = append(p.names, e.Name)
		}
	case history.LockHeld, history.LockFailed:
		p.answer(e, key)
	case history.Renewed, history.Told, history.UnlockBegins, history.UnlockEnds:
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
	case history.FaultBegins:
		p.verdict.Faults++
		p.verdict.FaultsByKind[kindOf(e.Fault)]++
		p.failing[e.Fault] = append(p.failing[e.Fault], len(p.faults))
		p.faults = append(p.faults, span{e.At, never})
	case history.FaultEnds:
		if begun := p.failing[e.Fault]; len(begun) > 0 {
			p.faults[begun[0]].to = e.At
			p.failing[e.Fault] = begun[1:]
		}
	case history.ClientStopped:
		p.stops[e.Client] = append(p.stops[e.Client], span{e.At, never})
	case history.ClientGoesOn, history.ClientKilled:
		p.goesOn(e)
	}
}

// kindOf returns the name of a fault without its parameters.
func kindOf(fault string) string {
	kind, _, _ := strings.Cut(fault, "(")
	return kind
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
			client: e.Client, name: e.Name, token: e.Token, asked: a.from, held: e.At,
			until: e.Until, told: never, left: never, freed: never, died: never,
		}
		p.entered[key] = a.hold
		p.holds[e.Name] = append(p.holds[e.Name], a.hold)
	default:
		p.verdict.Reentries++
		if a.hold = p.reentered(e); a.hold == nil {
			p.broken(e, "it re-entered a hold that is not there")
			return
		}
		a.hold.until = max(a.hold.until, e.Until)
		p.entered[key] = a.hold
	}
}

// reentered returns the latest hold of the client with that token.
func (p *parser) reentered(e history.Event) *hold {
	holds := p.holds[e.Name]
	for i := len(holds) - 1; i >= 0; i-- {
		if holds[i].client == e.Client && holds[i].token == e.Token {
			return holds[i]
		}
	}
	return nil
}

func (p *parser) change(e history.Event, key callKey) {
	h := p.entered[key]
	if h == nil || h.token != e.Token {
		p.broken(e, "nothing is held by that call")
		return
	}
	switch e.Kind {
	case history.Renewed:
		p.verdict.Renewals++
		h.until = max(h.until, e.Until)
	case history.Told:
		p.verdict.ToldOf++
		h.told = min(h.told, e.At)
		h.until = max(h.until, e.Until)
	case history.UnlockBegins:
		h.leaves = append(h.leaves, leave{e.At, never, e.Depth})
		if e.Depth == 0 {
			h.left = e.At
		}
	case history.UnlockEnds:
		p.verdict.Operations++
		for i := range h.leaves {
			if h.leaves[i].left == e.Depth && h.leaves[i].to == never {
				h.leaves[i].to = e.At
			}
		}
		if e.Depth == 0 {
			h.freed = e.At
		}
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

// goesOn ends the stop of a client; one that was killed has nothing under way any
// more, and holds nothing.
func (p *parser) goesOn(e history.Event) {
	if stops := p.stops[e.Client]; len(stops) > 0 {
		stops[len(stops)-1].to = min(stops[len(stops)-1].to, e.At)
	}
	if e.Kind != history.ClientKilled {
		return
	}
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
	for key, h := range p.entered {
		if key.client == e.Client && h.died == never && h.freed == never {
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

// seconds prints a moment as the violations do.
func seconds(d time.Duration) string {
	if d == never {
		return "the end"
	}
	return d.Round(10 * time.Microsecond).String()
}
