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

// The suite runs against guards with one fault each. The named checks must find the fault.
func TestSuiteDetectsFaults(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		store  *faulty
		seenBy []string
	}{
		"none":                   {&faulty{}, nil},
		"never stale":            {&faulty{stale: func(fence.Token, fence.Token) bool { return false }}, []string{"a lower token is refused and both are named"}},
		"an equal one is stale":  {&faulty{stale: func(token, highest fence.Token) bool { return token <= highest }}, []string{"an equal token passes"}},
		"takes invalid input":    {&faulty{takesAll: true}, []string{"the zero token is refused", "an empty resource is refused"}},
		"claims do not raise":    {&faulty{claimKeeps: true}, []string{"a claim without a write fences older ones", "a second lock name for a resource is noticed"}},
		"writes do not raise":    {&faulty{writeKeeps: true}, []string{"a write raises the fence"}},
		"failures reset":         {&faulty{failResets: true}, []string{"a failed write does not lower the fence"}},
		"folds case":             {&faulty{key: strings.ToLower}, []string{"resources are independent"}},
		"trims space":            {&faulty{key: strings.TrimSpace}, []string{"resources are independent"}},
		"cuts names":             {&faulty{key: func(name string) string { return strings.TrimSuffix(name, "/1") }}, []string{"resources are independent"}},
		"inserts twice":          {&faulty{insertsTwice: true}, []string{"the first claims of a resource may race"}},
		"first writes collide":   {&faulty{collides: true}, []string{"the first claims of a resource may race", "the first writes of a resource may race and fail"}},
		"checks, writes later":   {&faulty{writesLater: true}, []string{"no older write lands after a newer claim", "no write is lost between a claim and its writes"}},
		"checks, raises later":   {&faulty{raisesLater: true}, []string{"of racing writers the highest is last"}},
		"error is a sentinel":    {&faulty{refusal: func(*fence.StaleError) error { return fence.ErrStale }}, []string{"a lower token is refused and both are named"}},
		"error without highest":  {&faulty{refusal: withoutHighest}, []string{"a lower token is refused and both are named", "a second lock name for a resource is noticed"}},
		"a gap is stale":         {&faulty{stale: staleAfterGap}, []string{"gaps are allowed"}},
		"compares as text":       {&faulty{stale: func(token, highest fence.Token) bool { return token.String() < highest.String() }}, []string{"tokens are compared as whole numbers"}},
		"compares as doubles":    {&faulty{stale: func(token, highest fence.Token) bool { return float64(token) < float64(highest) }}, []string{"tokens are compared as whole numbers"}},
		"compares 32 bits alone": {&faulty{stale: func(token, highest fence.Token) bool { return token&math.MaxUint32 < highest&math.MaxUint32 }}, []string{"tokens are compared as whole numbers"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var seen []string
			for _, check := range checks {
				if err := check.run(t.Context(), c.store, "mutant/"+check.name); err != nil {
					seen = append(seen, check.name)
				}
			}
			if c.seenBy == nil && len(seen) > 0 {
				t.Errorf("a right guard is refused by %q", seen)
			}
			for _, by := range c.seenBy {
				if !slices.Contains(seen, by) {
					t.Errorf("%q does not see the fault, only %q do", by, seen)
				}
			}
		})
	}
}

func withoutHighest(e *fence.StaleError) error {
	return &fence.StaleError{Resource: e.Resource, Token: e.Token}
}

func staleAfterGap(token, highest fence.Token) bool {
	return token < highest || (highest > 0 && token > highest+1)
}

// faulty is a guarded store of strings. The zero value has no fault; each field adds one.
type faulty struct {
	stale                              func(token, highest fence.Token) bool
	key                                func(resource string) string
	refusal                            func(*fence.StaleError) error
	takesAll                           bool
	claimKeeps, writeKeeps, failResets bool // faults in what happens to the fence
	insertsTwice, collides             bool // faults with a resource that has no fence yet
	writesLater, raisesLater           bool // faults that let other operations come in between

	mu     sync.Mutex
	fences sync.Map // used with mu held; a sync.Map because its zero value is usable
	values sync.Map
	adding sync.Map // resources whose first write is under way
}

func (f *faulty) Claim(_ context.Context, resource string, token fence.Token) error {
	return f.guarded(resource, token, !f.claimKeeps, nil)
}

func (f *faulty) Write(_ context.Context, resource string, token fence.Token, value string) error {
	return f.guarded(resource, token, !f.writeKeeps, func(key string) error {
		f.values.Store(key, value)
		return nil
	})
}

func (f *faulty) Fail(_ context.Context, resource string, token fence.Token, _ string) error {
	return f.guarded(resource, token, true, func(key string) error {
		if f.failResets {
			f.fences.Delete(key)
		}
		return errors.New("the write failed")
	})
}

func (f *faulty) Read(_ context.Context, resource string) (string, error) {
	value, _ := f.values.Load(f.keyOf(resource))
	text, _ := value.(string)
	return text, nil
}

func (f *faulty) keyOf(resource string) string {
	if f.key != nil {
		return f.key(resource)
	}
	return resource
}

func (f *faulty) guarded(resource string, token fence.Token, raise bool, write func(key string) error) error {
	if err := fence.Validate(resource, token); err != nil && !f.takesAll {
		return err
	}
	runtime.Gosched() // as in a real store, the caller waits for the answer
	f.mu.Lock()
	defer f.mu.Unlock()
	key := f.keyOf(resource)
	entry, known := f.fences.Load(key)
	highest, _ := entry.(fence.Token)
	stale := token < highest
	if f.stale != nil {
		stale = f.stale(token, highest)
	}
	if e := (&fence.StaleError{Resource: resource, Token: token, Highest: highest}); stale && f.refusal != nil {
		return f.refusal(e)
	} else if stale {
		return e
	}
	if f.raisesLater || (f.insertsTwice && !known) {
		f.pause()
	}
	if f.collides && !known {
		if _, other := f.adding.LoadOrStore(key, true); other {
			return errors.New("duplicate key")
		}
		f.pause()
		f.adding.Delete(key)
	}
	if raise {
		f.fences.Store(key, token)
	}
	if write == nil {
		return nil
	}
	if f.writesLater {
		f.pause()
	}
	return write(key)
}

// pause releases mu for longer than an operation takes, so that other operations run in between, as they do
// between two requests to a real store.
func (f *faulty) pause() {
	f.mu.Unlock()
	for range 500 {
		runtime.Gosched()
	}
	f.mu.Lock()
}
