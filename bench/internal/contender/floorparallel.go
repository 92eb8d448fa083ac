package contender

import (
	"context"
	"sync"
)

// parallelFloor is the floor as one writes it first: for each acquisition a goroutine a master,
// each on a connection of go-redis's pool. One goroutine sends both scripts to its master, so that
// they cannot overtake each other.
type parallelFloor struct {
	redisClients
	pairs sync.WaitGroup
}

func openParallelFloor(urls []string) (Client, error) {
	clients, err := openFloor(urls)
	return &parallelFloor{redisClients: clients}, err
}

func (f *parallelFloor) Lock(ctx context.Context, name string, _ bool) (Held, error) {
	p := newFloorPair(name)
	h := &parallelHeld{
		granted: newBallot(len(f.redisClients)),
		freed:   newBallot(len(f.redisClients)),
		unlock:  make(chan struct{}),
	}
	for _, c := range f.redisClients {
		f.pairs.Go(func() {
			h.granted.vote(yes(p.acquire(ctx, c)))
			<-h.unlock
			h.freed.vote(yes(p.release(ctx, c)))
		})
	}
	err := h.granted.await(ctx)
	if err != nil {
		close(h.unlock)
	}
	return h, err
}

func (f *parallelFloor) Close() error {
	err := f.redisClients.Close()
	f.pairs.Wait()
	return err
}

type parallelHeld struct {
	granted, freed *ballot
	unlock         chan struct{}
}

func (h *parallelHeld) Token() uint64 { return 0 }

func (h *parallelHeld) Unlock(ctx context.Context) error {
	close(h.unlock)
	return h.freed.await(ctx)
}
