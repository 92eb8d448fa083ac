package contender

import (
	"context"
	"errors"
	"sync"
)

// parallelFloor is the floor as one writes it first: for each acquisition a
// goroutine a master, each on a connection of go-redis's pool. One goroutine sends
// both scripts to its master, so that they cannot overtake each other.
type parallelFloor struct {
	redisClients
	scripts floorScripts
	pairs   sync.WaitGroup
}

func openParallelFloor(urls []string) (Client, error) {
	clients, scripts, err := openFloor(urls)
	return &parallelFloor{redisClients: clients, scripts: scripts}, err
}

// openFloor prepares the masters. One that is down is as good as a no.
func openFloor(urls []string) (redisClients, floorScripts, error) {
	scripts, err := loadFloorScripts()
	if err != nil {
		return nil, scripts, err
	}
	clients, err := dialRedis(urls)
	if err != nil {
		return nil, scripts, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), TTL)
	defer cancel()
	prepared := newBallot(len(clients))
	for _, c := range clients {
		go func() { prepared.vote(scripts.prepare(ctx, c) == nil) }()
	}
	if err := prepared.await(ctx); err != nil {
		return nil, scripts, errors.Join(err, clients.Close())
	}
	return clients, scripts, nil
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
			h.granted.vote(yes(p.acquire(ctx, f.scripts, c)))
			<-h.unlock
			h.freed.vote(yes(p.release(ctx, f.scripts, c)))
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
