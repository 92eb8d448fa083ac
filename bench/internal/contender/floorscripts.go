package contender

import (
	"context"
	_ "embed"
	"errors"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// The raw floors do what an acquisition cannot do without: the calls that the scripts of this
// library make, on all masters, and a wait for the answers of a quorum. They count no validity,
// mint no token, renew nothing and give nothing back.

//go:embed floor.lua
var floorFunctions string

//go:embed floorbatch.lua
var floorBatchLoop string

// floorScripts are a script for each operation, and one for many.
var floorScripts = struct{ acquire, release, batch *redis.Script }{
	redis.NewScript(floorFunctions + "return acquire(KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV[2])"),
	redis.NewScript(floorFunctions + "return release(KEYS[1], KEYS[2], ARGV[1])"),
	redis.NewScript(floorFunctions + floorBatchLoop),
}

const (
	floorFence = "floor:fence"
	floorCount = 1_000_000_000_000 // counters start far above 1
)

// openFloor prepares the masters. One that is down is as good as a no.
func openFloor(urls []string) (redisClients, error) {
	clients, err := dialRedis(urls)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), TTL)
	defer cancel()
	prepared := newBallot(len(clients))
	for _, c := range clients {
		go func() { prepared.vote(prepareFloor(ctx, c) == nil) }()
	}
	if err := prepared.await(ctx); err != nil {
		return nil, errors.Join(err, clients.Close())
	}
	return clients, nil
}

// prepareFloor makes a master ready: the counter, and the scripts in its cache.
func prepareFloor(ctx context.Context, c *redis.Client) error {
	return errors.Join(
		c.SetNX(ctx, floorFence, floorCount, 0).Err(),
		floorScripts.acquire.Load(ctx, c).Err(),
		floorScripts.release.Load(ctx, c).Err(),
		floorScripts.batch.Load(ctx, c).Err(),
	)
}

// floorPair is the arguments of both scripts for one acquisition.
type floorPair struct {
	lock, gone, queue, owner string
}

var floorOwners atomic.Int64

func newFloorPair(name string) floorPair {
	owner := strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(floorOwners.Add(1), 10)
	return floorPair{lock: "floor:lock:" + name, gone: "floor:gone:" + owner, queue: "floor:queue:" + name, owner: owner}
}

func (p floorPair) acquire(ctx context.Context, c redis.Scripter) *redis.Cmd {
	return c.EvalSha(ctx, floorScripts.acquire.Hash(), []string{p.lock, floorFence, p.gone, p.queue}, p.owner, TTL.Milliseconds())
}

func (p floorPair) release(ctx context.Context, c redis.Scripter) *redis.Cmd {
	return c.EvalSha(ctx, floorScripts.release.Hash(), []string{p.lock, p.queue}, p.owner)
}

// yes reports whether a script's answer is a grant, or a release.
func yes(cmd *redis.Cmd) bool {
	n, err := cmd.Int64()
	return err == nil && n > 0
}
