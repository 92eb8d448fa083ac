package check

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// fenced is the state of a fencedRegister.
type fenced struct {
	fence uint64
	value int64
}

// fencedRegister is a number behind a fence: an access with a token that is not below the fence
// raises it, and is done; one with a lower token is refused, and a refusal of any other is wrong.
// Without a token it is a read past the fence. An access of unknown outcome was done or not.
var fencedRegister = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{fenced{}} },
	Step: func(state, input, _ any) []any {
		s, a := state.(fenced), input.(*access)
		stale := a.token != 0 && a.token < s.fence
		done := fenced{max(s.fence, a.token), s.value}
		if a.write {
			done.value = a.value
		}
		switch {
		case a.err == history.ErrUnknown && stale:
			return []any{s}
		case a.err == history.ErrUnknown:
			return []any{s, done}
		case stale != (a.err == history.ErrRefused):
			return nil
		case stale:
			return []any{s}
		case !a.write && a.value != s.value:
			return nil
		}
		return []any{done}
	},
	DescribeOperation: func(input, _ any) string {
		a := input.(*access)
		what := "the read of"
		if a.write {
			what = "the write of"
		}
		outcome := a.err
		if outcome == "" {
			outcome = "done"
		}
		return fmt.Sprintf("%s %d by %s with token %d (%s)", what, a.value, a.client, a.token, outcome)
	},
	DescribeState: func(state any) string {
		s := state.(fenced)
		return fmt.Sprintf("%d behind the fence %d", s.value, s.fence)
	},
}).ToModel()

func guarded(at register) bool { return at.store != history.Unguarded }

// registerOperations are all accesses that may have done anything. One of unknown outcome has until
// a while after its caller heard no more of it.
func registerOperations(r *record, b Bounds, at register) (ops []porcupine.Operation) {
	for _, a := range r.accesses[at] {
		to := a.to
		if a.err == history.ErrUnknown {
			to = min(to, r.horizon) + b.Grace
		}
		if a.err == history.ErrUnknown && !a.write && a.token == 0 {
			continue
		}
		ops = append(ops, operation(a.from, to, a))
	}
	return ops
}
