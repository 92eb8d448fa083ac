package redlocktest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/direct"
	"github.com/redlock-go/redlock/internal/script"
)

// tokensBetween is how far a rival's token is above the counters. It is so large that no concurrent grant gets the
// same token.
const tokensBetween = 1000

// Expire ends the lease of a lock now, on all masters and for any holder. The masters call the first waiter; if
// nobody waits, the name is free. The holder notices at its next renewal: at once for a client that Deployment.Client
// made, after a third of the ttl for other clients, and at the end of the ttl for a hold without a watchdog. The
// holder's error is redlock.ErrLost. But it is redlock.ErrExpired if some masters had not granted the lock to this
// holder: they did not answer, or had granted the lock to another caller at the same time.
//
// For a set (LockAll) give one of its names. For a name with slots give the result of Lock.Name.
//
// Expire fails the test if nobody holds the lock.
func (d *Deployment) Expire(name string) {
	d.t.Helper()
	d.settle()
	keys := script.KeysOf(d.prefix, name, "")
	found := false
	for _, m := range d.masters {
		found = m.Remove(keys.Lock) || found
	}
	if !found {
		d.t.Fatalf("redlocktest: Expire(%q): nobody has this lock (prefix %q)", name, d.prefix)
	}
	// A master on which clients wait refuses this acquire, and calls the first of them. A master on
	// which none waits grants the acquire, and the release then frees the lock.
	owner := newOwner()
	for i := range d.masters {
		d.run(i,
			script.Acquire.Call(&keys, &owner, time.Second.Milliseconds(), 0),
			script.Release.Call(&keys, &owner))
	}
	d.renewNow(name)
}

// Rival is a lock owner that is not one of the clients. It does not renew: its lease ends after the
// deployment's max ttl.
type Rival struct {
	d     *Deployment
	name  string
	owner string
	token fence.Token
}

// Steal gives a lock to another owner, on all masters that answer, even if others hold the lock or wait for it. The
// holder notices as with Expire. If nobody holds the name, the rival is like a holder that came first.
//
// Steal fails the test if the name is empty, or if fewer than a quorum of the masters answer and vote.
func (d *Deployment) Steal(name string) *Rival {
	d.t.Helper()
	if name == "" {
		d.t.Fatalf("redlocktest: Steal(%q): the name must not be empty", name)
	}
	d.settle()
	keys := script.KeysOf(d.prefix, name, "")
	r := &Rival{d: d, name: name, owner: newOwner(), token: d.highest(keys.Fence) + tokensBetween}
	repair := script.Repair.Call(&keys, &r.owner, uint64(r.token), d.maxTTL.Milliseconds())
	stolen := 0
	for i := range d.masters {
		if d.stealOn(i, keys.Lock, repair) {
			stolen++
		}
	}
	if need := len(d.masters)/2 + 1; stolen < need {
		d.t.Fatalf("redlocktest: Steal(%q): %d of the %d masters answer and vote, and it takes %d", name, stolen, len(d.masters), need)
	}
	d.renewNow(name)
	return r
}

// stealOn writes the rival as the owner of the lock on a master. It returns false if the master does not answer or does
// not vote.
func (d *Deployment) stealOn(i int, lock string, repair script.Call) bool {
	d.t.Helper()
	for d.masters[i].serves() {
		d.masters[i].Remove(lock)
		votes := d.run(i, repair)
		switch {
		case votes == nil:
			return false
		case votes[0].Answer == script.Granted:
			return true
		case !votes[0].NotMine(): // NotMine: another owner was faster, so try again
			return false
		}
	}
	return false
}

// Token returns the rival's fencing token, which is above all earlier ones.
func (r *Rival) Token() fence.Token { return r.token }

// Unlock releases the lock, on all masters that answer. It does nothing if another owner has the lock by now.
func (r *Rival) Unlock() {
	r.d.t.Helper()
	keys := script.KeysOf(r.d.prefix, r.name, "")
	for i := range r.d.masters {
		r.d.run(i, script.Release.Call(&keys, &r.owner))
	}
}

// newOwner returns the id of an owner that no client uses.
func newOwner() string { return "redlocktest." + rand.Text() }

// renewNow makes the clients renew their holds of a name at once, so that they notice a loss.
func (d *Deployment) renewNow(name string) {
	for _, c := range d.allClients() {
		redlock.Inside(core.Key{}).Client(context.Background(), c).Holds.RenewNow(name)
	}
}

func (d *Deployment) allClients() []*redlock.Client {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.clients)
}

// highest returns the highest value of a counter on the masters that answer.
func (d *Deployment) highest(fenceKey string) (highest fence.Token) {
	d.t.Helper()
	for i := range d.masters {
		d.ask(i, func(ctx context.Context, r *redis.Client) error {
			n, err := r.Get(ctx, fenceKey).Uint64()
			highest = max(highest, fence.Token(n))
			return err
		})
	}
	return highest
}

// run runs operations on a master in one batch. It returns nil if the master does not answer or does
// not vote.
func (d *Deployment) run(i int, calls ...script.Call) (votes []script.Vote) {
	d.t.Helper()
	d.ask(i, func(ctx context.Context, r *redis.Client) error {
		header, err := direct.Header(ctx, r, d.prefix)
		if err != nil {
			return err
		}
		replies, err := direct.Run(ctx, r, "eval", script.BatchSource, d.prefix, header, calls...)
		if err != nil {
			return err
		}
		for n, reply := range replies[:min(len(replies), len(calls))] {
			switch reply := reply.(type) {
			case int64:
				votes = append(votes, calls[n].Read(reply))
			default:
				votes = append(votes, script.Vote{Answer: script.Refused, Err: fmt.Errorf("%v", reply)})
			}
		}
		return nil
	})
	return votes
}

// ask calls question with a client of master i, if this master serves. A missing key is no error.
func (d *Deployment) ask(i int, question func(context.Context, *redis.Client) error) {
	d.t.Helper()
	m := d.masters[i]
	if !m.serves() {
		return
	}
	r := redis.NewClient(m.Options())
	defer func() { _ = r.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := question(ctx, r); err != nil && !errors.Is(err, redis.Nil) && m.serves() {
		d.t.Fatalf("redlocktest: master %d: %v", i, err)
	}
}
