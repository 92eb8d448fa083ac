package faultproxy

import (
	"context"
	"sync"
)

// queue is a first-in-first-out queue. It has no limit, so that the goroutine that reads a connection never waits for
// earlier messages, and notices the connection's end.
type queue[T any] struct {
	mu    sync.Mutex
	items []T
	some  chan struct{} // holds a value when there may be items
}

func newQueue[T any]() *queue[T] { return &queue[T]{some: make(chan struct{}, 1)} }

func (q *queue[T]) push(item T) {
	q.mu.Lock()
	q.items = append(q.items, item)
	q.mu.Unlock()
	select {
	case q.some <- struct{}{}:
	default:
	}
}

func (q *queue[T]) tryPop() (item T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return item, false
	}
	item = q.items[0]
	q.items = q.items[1:]
	return item, true
}

// pop waits for an item. Only one goroutine may call pop. It returns false if ctx has ended.
func (q *queue[T]) pop(ctx context.Context) (T, bool) {
	for {
		if item, ok := q.tryPop(); ok {
			return item, ctx.Err() == nil
		}
		select {
		case <-q.some:
		case <-ctx.Done():
			var none T
			return none, false
		}
	}
}
