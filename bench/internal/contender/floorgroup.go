package contender

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// groupFloor is the floor with group commit: one goroutine a master, and what came while its last
// batch was under way leaves as the next.
type groupFloor struct {
	redisClients
	lines   []*groupLine
	running sync.WaitGroup
}

// groupCall is one script call for one master.
type groupCall struct {
	pair    *floorPair
	release bool
	to      *ballot
}

// groupLine is what waits for one master.
type groupLine struct {
	mu    sync.Mutex
	calls []groupCall
	some  chan struct{} // has an element when calls may have some
}

// openGroupFloor opens one whose batches are sent by one sender a master.
func openGroupFloor(newSender func(*redis.Client) groupSender) func([]string) (Client, error) {
	return func(urls []string) (Client, error) {
		clients, err := openFloor(urls)
		if err != nil {
			return nil, err
		}
		f := &groupFloor{redisClients: clients}
		for _, c := range clients {
			l := &groupLine{some: make(chan struct{}, 1)}
			f.lines = append(f.lines, l)
			f.running.Go(func() { l.run(newSender(c)) })
		}
		return f, nil
	}
}

// groupSender sends a batch to its master, and gives the calls their answers.
type groupSender func([]groupCall)

func (l *groupLine) put(c groupCall) {
	l.mu.Lock()
	l.calls = append(l.calls, c)
	l.mu.Unlock()
	select {
	case l.some <- struct{}{}:
	default:
	}
}

// take exchanges what waits for a buffer that is empty.
func (l *groupLine) take(empty []groupCall) []groupCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.calls
	l.calls = empty
	return calls
}

func (l *groupLine) run(send groupSender) {
	var calls []groupCall
	for range l.some {
		calls = l.take(calls[:0])
		send(calls)
	}
}

// pipelined sends a script call for each, in one pipeline. This is what the library's speed was
// measured against before it sent batches itself.
func pipelined(c *redis.Client) groupSender {
	ctx := context.Background()
	var cmds []*redis.Cmd
	return func(calls []groupCall) {
		cmds = cmds[:0]
		pipe := c.Pipeline()
		for _, call := range calls {
			send := call.pair.acquire
			if call.release {
				send = call.pair.release
			}
			cmds = append(cmds, send(ctx, pipe))
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		for i, call := range calls {
			call.to.vote(yes(cmds[i]))
		}
	}
}

func (f *groupFloor) ask(ctx context.Context, pair *floorPair, release bool) error {
	b := newBallot(len(f.lines))
	for _, l := range f.lines {
		l.put(groupCall{pair, release, b})
	}
	return b.await(ctx)
}

func (f *groupFloor) Lock(ctx context.Context, name string, _ bool) (Held, error) {
	h := &groupHeld{f, newFloorPair(name)}
	return h, f.ask(ctx, &h.pair, false)
}

// Close must be called when no call is under way.
func (f *groupFloor) Close() error {
	for _, l := range f.lines {
		close(l.some)
	}
	err := f.redisClients.Close()
	f.running.Wait()
	return err
}

type groupHeld struct {
	f    *groupFloor
	pair floorPair
}

func (h *groupHeld) Token() uint64 { return 0 }

func (h *groupHeld) Unlock(ctx context.Context) error { return h.f.ask(ctx, &h.pair, true) }
