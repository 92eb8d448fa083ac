package guardtest

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redlock-go/redlock/fence"
)

// A suite that nothing fails proves nothing. So it is run against a guard with one fault after the
// other put in, and each must be seen by the check that is there for it.
func TestSuiteSeesFaults(t *testing.T) {
	t.Parallel()
	for _, mutant := range []struct {
		fault  fault
		seenBy string
	}{
		{noFault, ""},
		{neverStale, "a lower token is refused and both are named"},
		{equalIsStale, "an equal token passes"},
		{gapIsStale, "gaps are allowed"},
		{takesZero, "the zero token is refused"},
		{takesEmptyResource, "an empty resource is refused"},
		{claimDoesNotRaise, "a claim without a write fences older ones"},
		{writeDoesNotRaise, "a write raises the fence"},
		{failResets, "a failed write does not lower the fence"},
		{foldsCase, "resources are independent"},
		{trimsSpace, "resources are independent"},
		{cutsNames, "resources are independent"},
		{comparesText, "tokens are compared as whole numbers"},
		{comparesDoubles, "tokens are compared as whole numbers"},
		{comparesInt32, "tokens are compared as whole numbers"},
		{hidesHighest, "a lower token is refused and both are named"},
		{hidesType, "a lower token is refused and both are named"},
		{claimDoesNotRaise, "a second lock name for a resource is noticed"},
		{hidesHighest, "a second lock name for a resource is noticed"},
		{insertsTwice, "the first claims of a resource may race"},
		{collides, "the first claims of a resource may race"},
		{collides, "the first writes of a resource may race and fail"},
		{writesLater, "no older write lands after a newer claim"},
		{writesLater, "no write is lost between a claim and its writes"},
		{raisesLater, "of racing writers the highest is last"},
	} {
		t.Run(string(mutant.fault), func(t *testing.T) {
			t.Parallel()
			store := newFaulty(mutant.fault)
			var seen []string
			for _, check := range checks {
				if err := check.run(t.Context(), store, "mutant/"+check.name); err != nil {
					seen = append(seen, check.name)
				}
			}
			if mutant.seenBy == "" && len(seen) > 0 {
				t.Errorf("a right guard is refused by %q", seen)
			}
			if mutant.seenBy != "" && !slices.Contains(seen, mutant.seenBy) {
				t.Errorf("%q does not see the fault, only %q do", mutant.seenBy, seen)
			}
		})
	}
}

type fault string

const (
	noFault            fault = "none"
	neverStale         fault = "never stale"
	equalIsStale       fault = "equal is stale"
	gapIsStale         fault = "a gap is stale"
	takesZero          fault = "takes zero"
	takesEmptyResource fault = "takes an empty resource"
	claimDoesNotRaise  fault = "a claim does not raise"
	writeDoesNotRaise  fault = "a write does not raise"
	failResets         fault = "a failure resets the fence"
	foldsCase          fault = "folds case"
	trimsSpace         fault = "trims space"
	cutsNames          fault = "cuts names"
	comparesText       fault = "compares as text"
	comparesDoubles    fault = "compares as doubles"
	comparesInt32      fault = "compares 32 bits"
	hidesHighest       fault = "the error lacks the highest token"
	hidesType          fault = "the error is a bare sentinel"
	insertsTwice       fault = "the second first claim overwrites the first"
	collides           fault = "racing first writes collide"
	writesLater        fault = "checks first and writes later"
	raisesLater        fault = "checks first and raises later"
)

// faulty is a guarded store of strings with one fault.
type faulty struct {
	fault  fault
	mu     sync.Mutex
	fences map[string]fence.Token
	values map[string]string
	adding map[string]bool // resources whose first write is under way
}

func newFaulty(fault fault) *faulty {
	return &faulty{fault: fault, fences: make(map[string]fence.Token), values: make(map[string]string), adding: make(map[string]bool)}
}

func (f *faulty) Claim(_ context.Context, resource string, token fence.Token) error {
	return f.guarded(resource, token, f.fault != claimDoesNotRaise, nil)
}

func (f *faulty) Write(_ context.Context, resource string, token fence.Token, value string) error {
	return f.guarded(resource, token, f.fault != writeDoesNotRaise, func() error {
		f.values[f.key(resource)] = value
		return nil
	})
}

func (f *faulty) Fail(_ context.Context, resource string, token fence.Token, _ string) error {
	return f.guarded(resource, token, true, func() error {
		if f.fault == failResets {
			delete(f.fences, f.key(resource))
		}
		return errors.New("the write failed")
	})
}

func (f *faulty) Read(_ context.Context, resource string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.values[f.key(resource)], nil
}

func (f *faulty) guarded(resource string, token fence.Token, raise bool, write func() error) error {
	err := fence.Validate(resource, token)
	if err != nil && !(f.fault == takesZero && token == 0) && !(f.fault == takesEmptyResource && resource == "") {
		return err
	}
	runtime.Gosched() // no store answers without the caller having to wait
	f.mu.Lock()
	defer f.mu.Unlock()
	key := f.key(resource)
	highest, known := f.fences[key]
	if f.stale(token, highest) {
		return f.staleError(resource, token, highest)
	}
	if f.fault == raisesLater || (f.fault == insertsTwice && !known) {
		f.pause()
	}
	if f.fault == collides && !known {
		if f.adding[key] {
			return errors.New("duplicate key")
		}
		f.adding[key] = true
		f.pause()
		delete(f.adding, key)
	}
	if raise {
		f.fences[key] = token
	}
	if write == nil {
		return nil
	}
	if f.fault == writesLater {
		f.pause()
	}
	return write()
}

// pause lets others in, as the time between two requests to a store would. It is long compared with
// an operation of this store, as that time is.
func (f *faulty) pause() {
	f.mu.Unlock()
	for range 500 {
		runtime.Gosched()
	}
	f.mu.Lock()
}

func (f *faulty) key(resource string) string {
	switch f.fault {
	case foldsCase:
		return strings.ToLower(resource)
	case trimsSpace:
		return strings.TrimSpace(resource)
	case cutsNames:
		return strings.TrimSuffix(resource, "/1")
	default:
		return resource
	}
}

func (f *faulty) stale(token, highest fence.Token) bool {
	switch f.fault {
	case neverStale:
		return false
	case equalIsStale:
		return token <= highest
	case gapIsStale:
		return token < highest || (highest > 0 && token > highest+1)
	case comparesText:
		return token.String() < highest.String()
	case comparesDoubles:
		return float64(token) < float64(highest)
	case comparesInt32:
		return token&math.MaxUint32 < highest&math.MaxUint32
	default:
		return token < highest
	}
}

func (f *faulty) staleError(resource string, token, highest fence.Token) error {
	switch f.fault {
	case hidesHighest:
		return &fence.StaleError{Resource: resource, Token: token}
	case hidesType:
		return fence.ErrStale
	default:
		return &fence.StaleError{Resource: resource, Token: token, Highest: highest}
	}
}
