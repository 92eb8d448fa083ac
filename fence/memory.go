package fence

import (
	"context"
	"fmt"
	"sync"
)

// Memory is a Guard for data in this process, and the reference for other guards. The zero value is
// ready to use, by any number of goroutines; it must not be copied.
//
// As with every guard, use tokens of one lock name for a resource; see CheckLockName.
//
// Not promised: anything across processes or after a restart, when every fence is gone. Memory keeps an entry for every
// resource that it has ever seen, because a forgotten fence would let an old holder write again.
type Memory struct {
	mu     sync.Mutex // for the map alone, never held while a write runs
	fences map[string]*memoryFence
}

// memoryFence belongs to the goroutine that has put a value into the channel turn. A mutex would not do, because a
// waiting goroutine also watches its context.
type memoryFence struct {
	turn    chan struct{}
	highest Token
}

var _ Guard = (*Memory)(nil)

// Claim raises the fence of resource to token; see Guard. It waits for a running write of the same resource, because
// that write must not take effect after a newer claim. It fails when ctx ends.
func (m *Memory) Claim(ctx context.Context, resource string, token Token) error {
	return m.Do(ctx, resource, token, func() error { return nil })
}

// Do runs write if token is not stale, and returns the error of write. While write runs, no other operation on the same
// resource runs, not even a claim; other resources are independent. If write fails or panics, the fence stays raised.
//
// Do waits for its turn until ctx ends; then the error wraps ctx.Err(). The end of ctx does not stop a running write.
// If write uses the same resource of the same Memory, it waits for itself until ctx ends.
func (m *Memory) Do(ctx context.Context, resource string, token Token, write func() error) error {
	if ctx == nil {
		panic("fence: nil context")
	}
	if err := Validate(resource, token); err != nil {
		return err
	}
	if write == nil {
		return fmt.Errorf("%w: write is nil: use Claim to raise the fence alone", ErrInvalid)
	}
	fence := m.fence(resource)
	if err := fence.enter(ctx); err != nil {
		return fmt.Errorf("fence: waiting for %q: %w", resource, err)
	}
	defer fence.leave()

	if token < fence.highest {
		return &StaleError{Resource: resource, Token: token, Highest: fence.highest}
	}
	fence.highest = token
	return write()
}

func (m *Memory) fence(resource string) *memoryFence {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fences == nil {
		m.fences = make(map[string]*memoryFence)
	}
	fence := m.fences[resource]
	if fence == nil {
		fence = &memoryFence{turn: make(chan struct{}, 1)}
		m.fences[resource] = fence
	}
	return fence
}

func (f *memoryFence) enter(ctx context.Context) error {
	// Check ctx first, because select would choose at random if the turn is free too.
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case f.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *memoryFence) leave() { <-f.turn }
