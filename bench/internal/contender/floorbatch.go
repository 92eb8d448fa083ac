package contender

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// floorBatch is how many operations one script call has at most, so that it does not keep a master
// from others for long.
const floorBatch = 512

// batched sends one script call for up to floorBatch of them. No client that asks a quorum for each
// acquisition and release can be much faster.
func batched(c *redis.Client) groupSender {
	ctx := context.Background()
	var args []any
	return func(calls []groupCall) {
		for len(calls) > 0 {
			n := min(len(calls), floorBatch)
			args = batchArgs(args[:0], calls[:n])
			cmd := redis.NewIntSliceCmd(ctx, args...)
			_ = c.Process(ctx, cmd) // the reply is empty then
			replies := cmd.Val()
			for i, call := range calls[:n] {
				call.to.vote(i < len(replies) && replies[i] > 0)
			}
			calls = calls[n:]
		}
	}
}

// What floorbatch.lua tells operations by, and what they have in common. Strings are passed by
// their addresses, which costs no allocation.
var (
	batchCommand any = "EVALSHA"
	batchScript  any = floorScripts.batch.Hash()
	batchFence   any = floorFence
	batchAcquire any = "a"
	batchRelease any = "r"
	batchTTL     any = TTL.Milliseconds()
)

// batchArgs appends the command for the calls, see floorbatch.lua.
func batchArgs(args []any, calls []groupCall) []any {
	args = append(args, batchCommand, batchScript, nil)
	for _, call := range calls {
		if p := call.pair; call.release {
			args = append(args, &p.lock, &p.queue)
		} else {
			args = append(args, &p.lock, batchFence, &p.gone, &p.queue)
		}
	}
	args[2] = len(args) - 3
	for _, call := range calls {
		if p := call.pair; call.release {
			args = append(args, batchRelease, &p.owner)
		} else {
			args = append(args, batchAcquire, &p.owner, batchTTL)
		}
	}
	return args
}
