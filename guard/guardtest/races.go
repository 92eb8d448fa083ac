package guardtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/redlock-go/redlock/fence"
)

// The size of the races. A guard that checks first and writes later has been seen to fail within the
// first few repetitions.
const (
	racers = 16 // goroutines in one race
	rounds = 20 // races of one kind, each on a resource of its own
)

// firstClaimsRace tests the first claims of a resource: a store may fail the second of
// two inserts, or let the second overwrite the first.
func firstClaimsRace(ctx context.Context, store Store, resource string) error {
	for round := range rounds {
		fresh := fmt.Sprintf("%s/%d", resource, round)
		err := race(func(i int) error {
			return unlessStale(store.Claim(ctx, fresh, fence.Token(i+1)))
		})
		if err != nil {
			return fmt.Errorf("%d racing first claims: %w", racers, err)
		}
		if err := wantStale(store.Claim(ctx, fresh, racers-1), fresh, racers-1, racers); err != nil {
			return fmt.Errorf("after %d racing first claims: %w", racers, err)
		}
	}
	return nil
}

// firstFailuresRace makes some of the racing first writes fail. Their inserts are rolled back while other writers
// wait for them, which may make these writers fail or deadlock.
func firstFailuresRace(ctx context.Context, store Store, resource string) error {
	for round := range rounds {
		fresh := fmt.Sprintf("%s/%d", resource, round)
		err := race(func(i int) error {
			token := fence.Token(i + 1)
			if token%2 == 0 {
				return unlessStale(store.Write(ctx, fresh, token, token.String()))
			}
			err := store.Fail(ctx, fresh, token, "failed")
			if errors.Is(err, fence.ErrStale) {
				return nil
			}
			return wantFailure(err, "beside others")
		})
		if err != nil {
			return fmt.Errorf("%d racing first writes, half of them failing: %w", racers, err)
		}
		err = errors.Join(
			wantValue(ctx, store, fresh, fmt.Sprint(racers)),
			wantStale(store.Claim(ctx, fresh, racers-1), fresh, racers-1, racers),
		)
		if err != nil {
			return fmt.Errorf("after %d racing first writes, half of them failed: %w", racers, err)
		}
	}
	return nil
}

func equalTokensRace(ctx context.Context, store Store, resource string) error {
	return race(func(i int) error {
		return errors.Join(
			wantPass(store.Claim(ctx, resource, 34), "claim"),
			wantPass(store.Write(ctx, resource, 34, fmt.Sprint(i)), "write"),
		)
	})
}

// highestIsLast starts writers with different tokens at once, without a claim. Each
// stops when it is refused; the writer with the highest token must finish, and write last.
func highestIsLast(ctx context.Context, store Store, resource string) error {
	const writes = 5
	for round := range rounds {
		fresh := fmt.Sprintf("%s/%d", resource, round)
		err := race(func(i int) error {
			token := fence.Token(i + 1)
			for n := range writes {
				err := store.Write(ctx, fresh, token, fmt.Sprintf("%d/%d", token, n))
				if errors.Is(err, fence.ErrStale) && token < racers {
					return nil
				}
				if err != nil {
					return fmt.Errorf("write %d of token %d, the highest is %d: %w", n, token, racers, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := wantValue(ctx, store, fresh, fmt.Sprintf("%d/%d", racers, writes-1)); err != nil {
			return err
		}
	}
	return nil
}

// overtakenLandsNothing makes a newer holder claim while older holders are in the middle of their
// writes. The value that the newer holder reads after its claim must not change.
func overtakenLandsNothing(ctx context.Context, store Store, resource string) error {
	for round := range rounds {
		if err := overtake(ctx, store, fmt.Sprintf("%s/%d", resource, round)); err != nil {
			return err
		}
	}
	return nil
}

func overtake(ctx context.Context, store Store, resource string) error {
	const older, newer fence.Token = 33, 34
	var claimed atomic.Bool
	var started, stopped sync.WaitGroup
	failed := make([]error, 3)
	for i := range failed {
		started.Add(1)
		stopped.Go(func() {
			begun := sync.OnceFunc(started.Done)
			defer begun()
			for n := 0; ; n++ {
				tooLate := claimed.Load()
				err := store.Write(ctx, resource, older, fmt.Sprintf("old %d/%d", i, n))
				begun()
				if errors.Is(err, fence.ErrStale) {
					failed[i] = wantStale(err, resource, older, newer)
					return
				}
				if err == nil && tooLate {
					err = fmt.Errorf("a write with token %d passed after a claim with %d had returned", older, newer)
				}
				if err != nil {
					failed[i] = err
					return
				}
			}
		})
	}
	started.Wait()
	err := store.Claim(ctx, resource, newer)
	claimed.Store(true)
	atClaim, readErr := store.Read(ctx, resource)
	stopped.Wait()
	if err := errors.Join(append(failed, err, readErr)...); err != nil {
		return err
	}
	if err := wantValue(ctx, store, resource, atClaim); err != nil {
		return fmt.Errorf("an older write landed after the claim of a newer holder, who had read %q: %w", atClaim, err)
	}
	return errors.Join(
		wantPass(store.Write(ctx, resource, newer, "new"), "write of the newer holder"),
		wantValue(ctx, store, resource, "new"),
	)
}

// noLostWrites tests the purpose of guards: in turn, each holder claims, reads a value, and writes a value
// computed from that value. Each holder still writes when the next one overtakes it. Each acknowledged write is
// recorded with the value from which it was computed. If the guard is right, these pairs form one chain from the
// first value to the last. If a write is lost, two values were computed from the same value.
func noLostWrites(ctx context.Context, store Store, resource string) error {
	const holders = 50
	history := history{next: make(map[string]string)}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	for i := range holders {
		writing := make(chan struct{})
		running.Go(func() {
			begun := sync.OnceFunc(func() { close(writing) })
			defer begun()
			if err := hold(ctx, store, resource, fence.Token(i+1), holders, begun, &history); err != nil {
				stop(fmt.Errorf("holder with token %d: %w", i+1, err))
			}
		})
		<-writing
	}
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	last := ""
	for range len(history.next) {
		value, ok := history.next[last]
		if !ok {
			return fmt.Errorf("lost write: of %d acknowledged ones none was computed from %q", len(history.next), last)
		}
		last = value
	}
	return wantValue(ctx, store, resource, last)
}

// history records the acknowledged writes of all holders.
type history struct {
	mu      sync.Mutex
	claimed fence.Token       // the highest token of a returned claim
	next    map[string]string // the written value, by the value from which it was computed
}

func (h *history) claim(token fence.Token) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.claimed = max(h.claimed, token)
}

func (h *history) overtaken(token fence.Token) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return token < h.claimed
}

func (h *history) acknowledge(base, value string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if other, taken := h.next[base]; taken {
		return fmt.Errorf("lost write: %q and %q were both computed from %q and both acknowledged", other, value, base)
	}
	h.next[base] = value
	return nil
}

// hold plays one holder, which writes until it is overtaken. The last holder is not overtaken, and
// writes a few times. When the first write has returned, hold calls begun.
func hold(ctx context.Context, store Store, resource string, token, last fence.Token, begun func(), history *history) error {
	if err := store.Claim(ctx, resource, token); err != nil {
		return err
	}
	history.claim(token)
	base, err := store.Read(ctx, resource)
	if err != nil {
		return err
	}
	// The context ends when another holder, which should overtake this one, has failed.
	for n := 0; ctx.Err() == nil && (token < last || n < 5); n++ {
		tooLate := history.overtaken(token)
		value := fmt.Sprintf("%d/%d", token, n)
		err := store.Write(ctx, resource, token, value)
		begun()
		if errors.Is(err, fence.ErrStale) && token < last {
			return nil
		}
		if err == nil && tooLate {
			err = errors.New("a write passed after a newer claim had returned")
		}
		if err != nil {
			return err
		}
		if err := history.acknowledge(base, value); err != nil {
			return err
		}
		base = value
	}
	return nil
}

// race runs f(0) to f(racers-1) at once, in a random order of start.
func race(f func(i int) error) error {
	gate := make(chan struct{})
	failed := make([]error, racers)
	var running sync.WaitGroup
	for _, i := range rand.Perm(racers) {
		running.Go(func() {
			<-gate
			failed[i] = f(i)
		})
	}
	close(gate)
	running.Wait()
	return errors.Join(failed...)
}

func unlessStale(err error) error {
	if errors.Is(err, fence.ErrStale) {
		return nil
	}
	return err
}
