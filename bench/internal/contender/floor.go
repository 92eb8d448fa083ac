package contender

import (
	"context"
	_ "embed"
	"errors"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// floor is the raw floor: it does only what an acquisition needs. On all masters, it makes the same Redis calls as
// the scripts of this library, and waits for the answers of a quorum. It computes no validity, confirms no token,
// renews no lease, and does not release a lock after a failed attempt. It has one goroutine for each master.
// Operations that arrive during a batch form the next batch. A client that asks a quorum for each acquisition and
// release cannot be much faster.
type floor struct {
	redisClients
	lines   []chan floorCall
	running sync.WaitGroup
}

//go:embed floor.lua
var floorSource string

var floorScript = redis.NewScript(floorSource)

const (
	floorFence = "floor:fence"
	floorCount = 1_000_000_000_000 // counters start far above 1
)

func openFloor(urls []string) (Client, error) {
	clients, err := dialRedis(urls)
	if err != nil {
		return nil, err
	}
	f := &floor{redisClients: clients}
	ctx := context.Background()
	for _, c := range clients {
		err = errors.Join(err, c.SetNX(ctx, floorFence, floorCount, 0).Err(), floorScript.Load(ctx, c).Err())
		line := make(chan floorCall, floorWaiting)
		f.lines = append(f.lines, line)
		f.running.Go(func() { f.run(c, line) })
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// floorCall is one operation for one master.
type floorCall struct {
	held    *floorHeld
	release bool
	to      *ballot
}

// floorWaiting is how many operations may wait for a master.
const floorWaiting = 4096

// run sends batches of all waiting operations to one master, until the channel line is closed.
func (f *floor) run(c *redis.Client, line <-chan floorCall) {
	var calls []floorCall
	var args []any
	for call := range line {
		calls = append(calls[:0], call)
		for range len(line) { // no other goroutine takes from line
			calls = append(calls, <-line)
		}
		args = floorArgs(args[:0], calls)
		cmd := redis.NewIntSliceCmd(context.Background(), args...)
		_ = c.Process(context.Background(), cmd) // on an error the reply is empty
		replies := cmd.Val()
		for i, call := range calls {
			call.to.vote(i < len(replies) && replies[i] > 0)
		}
	}
}

// Arguments of floorScript that all calls share. In ARGV, floorAcquire or floorRelease comes first. Strings are
// passed by address, which costs no allocation.
var (
	floorCommand any = "EVALSHA"
	floorHash    any = floorScript.Hash()
	floorCounter any = floorFence
	floorAcquire any = "a"
	floorRelease any = "r"
	floorTTL     any = TTL.Milliseconds()
)

// floorArgs appends the command for the calls. floor.lua describes its arguments.
func floorArgs(args []any, calls []floorCall) []any {
	args = append(args, floorCommand, floorHash, nil)
	for _, call := range calls {
		if h := call.held; call.release {
			args = append(args, &h.lock, &h.queue)
		} else {
			args = append(args, &h.lock, floorCounter, &h.gone, &h.queue)
		}
	}
	args[2] = len(args) - 3
	for _, call := range calls {
		if h := call.held; call.release {
			args = append(args, floorRelease, &h.owner)
		} else {
			args = append(args, floorAcquire, &h.owner, floorTTL)
		}
	}
	return args
}

var floorOwners atomic.Int64

func (f *floor) Lock(ctx context.Context, name string, _ bool) (Held, error) {
	owner := strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(floorOwners.Add(1), 10)
	h := &floorHeld{f: f, lock: "floor:lock:" + name, gone: "floor:gone:" + owner, queue: "floor:queue:" + name, owner: owner}
	return h, f.ask(ctx, h, false)
}

func (f *floor) ask(ctx context.Context, h *floorHeld, release bool) error {
	b := newBallot(len(f.lines))
	for _, line := range f.lines {
		line <- floorCall{h, release, b}
	}
	return b.await(ctx)
}

// Close must be called when no call is under way.
func (f *floor) Close() error {
	for _, line := range f.lines {
		close(line)
	}
	err := f.redisClients.Close()
	f.running.Wait()
	return err
}

type floorHeld struct {
	f                        *floor
	lock, gone, queue, owner string
}

func (h *floorHeld) Token() uint64 { return 0 }

func (h *floorHeld) Unlock(ctx context.Context) error { return h.f.ask(ctx, h, true) }

var errNoQuorum = errors.New("no quorum")

// ballot counts the answers of n masters until a quorum has granted, or until a quorum has become impossible.
type ballot struct {
	need, spare int64
	yes, no     atomic.Int64
	decided     chan struct{} // has an element once decided
}

func newBallot(n int) *ballot {
	need := int64(n/2 + 1)
	return &ballot{need: need, spare: int64(n) - need, decided: make(chan struct{}, 1)}
}

func (b *ballot) vote(yes bool) {
	if yes && b.yes.Add(1) == b.need || !yes && b.no.Add(1) == b.spare+1 {
		b.decided <- struct{}{}
	}
}

func (b *ballot) await(ctx context.Context) error {
	select {
	case <-b.decided:
		if b.yes.Load() < b.need {
			return errNoQuorum
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
