package contender

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// The raw floor does what an acquisition cannot do without: the scripts that this
// library runs, on all masters, and a wait for the answers of a quorum. It counts
// no validity, mints no token, renews nothing and gives nothing back.

// floorScripts are the two scripts, as the library sends them.
type floorScripts struct{ acquire, release *redis.Script }

// loadFloorScripts reads them from the module above this one.
func loadFloorScripts() (floorScripts, error) {
	line, err1 := readScript("line.lua")
	acquire, err2 := readScript("acquire.lua")
	release, err3 := readScript("release.lua")
	return floorScripts{redis.NewScript(line + acquire), redis.NewScript(line + release)}, errors.Join(err1, err2, err3)
}

// readScript looks for scripts/name above the working folder.
func readScript(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "scripts", name))
		if err == nil {
			return string(text), nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", fmt.Errorf("no scripts/%s above the working folder: run the benchmark in bench/", name)
		}
		dir = above
	}
}

const (
	floorFence  = "floor:fence"
	floorCount  = 1_000_000_000_000 // counters start far above 1
	floorNobody = ""
)

// prepare makes a master ready: the counter, and the scripts in its cache.
func (s floorScripts) prepare(ctx context.Context, c *redis.Client) error {
	return errors.Join(
		c.SetNX(ctx, floorFence, floorCount, 0).Err(),
		s.acquire.Load(ctx, c).Err(),
		s.release.Load(ctx, c).Err(),
	)
}

// floorPair is the arguments of both scripts for one acquisition.
type floorPair struct {
	lock, gone, line, owner string
}

var floorOwners atomic.Int64

func newFloorPair(name string) floorPair {
	owner := strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(floorOwners.Add(1), 10)
	return floorPair{lock: "floor:lock:" + name, gone: "floor:gone:" + owner, line: "floor:line:" + name, owner: owner}
}

func (p floorPair) acquire(ctx context.Context, s floorScripts, c redis.Scripter) *redis.Cmd {
	return c.EvalSha(ctx, s.acquire.Hash(), []string{p.lock, floorFence, p.gone, p.line},
		p.owner, 1, TTL.Milliseconds(), floorNobody, floorNobody)
}

func (p floorPair) release(ctx context.Context, s floorScripts, c redis.Scripter) *redis.Cmd {
	return c.EvalSha(ctx, s.release.Hash(), []string{p.lock, p.gone, p.line}, p.owner, 0, 0, floorNobody, floorNobody)
}

// yes reports whether a script's answer is a grant, or a release.
func yes(cmd *redis.Cmd) bool {
	n, err := cmd.Int64()
	return err == nil && n > 0
}
