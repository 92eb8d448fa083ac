package contender

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// groupFloor is the floor with group commit: one goroutine a master, and what came
// while its last pipeline was under way leaves as the next. This is what the
// library's speed is measured against.
type groupFloor struct {
	redisClients
	scripts floorScripts
	lines   []*groupLine
	running sync.WaitGroup
}

// groupCall is one script call for one master.
type groupCall struct {
	pair    floorPair
	release bool
	to      *ballot
}

// groupLine is what waits for one master.
type groupLine struct {
	mu    sync.Mutex
	calls []groupCall
	some  chan struct{} // has an element when calls may have some
}

func openGroupFloor(urls []string) (Client, error) {
	clients, scripts, err := openFloor(urls)
	if err != nil {
		return nil, err
	}
	f := &groupFloor{redisClients: clients, scripts: scripts}
	for _, c := range clients {
		l := &groupLine{some: make(chan struct{}, 1)}
		f.lines = append(f.lines, l)
		f.running.Go(func() { f.run(c, l) })
	}
	return f, nil
}

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

func (f *groupFloor) run(c *redis.Client, l *groupLine) {
	ctx := context.Background()
	var calls []groupCall
	var cmds []*redis.Cmd
	for range l.some {
		calls, cmds = l.take(calls[:0]), cmds[:0]
		pipe := c.Pipeline()
		for _, call := range calls {
			send := call.pair.acquire
			if call.release {
				send = call.pair.release
			}
			cmds = append(cmds, send(ctx, f.scripts, pipe))
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		for i, call := range calls {
			call.to.vote(yes(cmds[i]))
		}
	}
}

func (f *groupFloor) ask(ctx context.Context, pair floorPair, release bool) error {
	b := newBallot(len(f.lines))
	for _, l := range f.lines {
		l.put(groupCall{pair, release, b})
	}
	return b.await(ctx)
}

func (f *groupFloor) Lock(ctx context.Context, name string, _ bool) (Held, error) {
	h := &groupHeld{f, newFloorPair(name)}
	return h, f.ask(ctx, h.pair, false)
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

func (h *groupHeld) Unlock(ctx context.Context) error { return h.f.ask(ctx, h.pair, true) }
