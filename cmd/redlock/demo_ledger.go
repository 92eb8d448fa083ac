package main

import (
	"context"
	"sync"

	"github.com/redlock-go/redlock/fence"
)

// ledger is the store that the workers share: one number behind a fence, and the same number
// without one, which shows what the fence is for. Reading and writing are two steps, as with any
// store that is reached over a network.
type ledger struct {
	guard fence.Memory

	mu      sync.Mutex
	fenced  int
	bare    int
	highest fence.Token   // claimed
	landed  []fence.Token // of each fenced write, in the order in which they landed
}

// claim raises the fence, so that what is read after it stands until this holder or a newer one
// changes it.
func (l *ledger) claim(ctx context.Context, token fence.Token) error {
	if err := l.guard.Claim(ctx, demoLock, token); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.highest = max(l.highest, token)
	return nil
}

func (l *ledger) read() (fenced, bare int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fenced, l.bare
}

// write sets the fenced number, unless a newer holder has claimed.
func (l *ledger) write(ctx context.Context, token fence.Token, value int) error {
	return l.guard.Do(ctx, demoLock, token, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.fenced = value
		l.landed = append(l.landed, token)
		return nil
	})
}

// writeBare sets the number without a fence, whoever asks, and returns what it was.
func (l *ledger) writeBare(value int) (before int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, l.bare = l.bare, value
	return before
}

// overtaken reports whether a holder newer than token has claimed.
func (l *ledger) overtaken(token fence.Token) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.highest > token
}
