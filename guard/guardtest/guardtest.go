// Package guardtest checks that a guard keeps the contract of fence.Guard. Run it from the test of
// every guard, your own included, against the real store:
//
//	func TestConformance(t *testing.T) {
//		guardtest.Run(t, myStore{...})
//	}
//
// It tests the store from outside, as the store's users do. It provokes races, which detect a guard
// that is not atomic. A pass is no proof: one run detects such a guard almost certainly, and many
// runs make it more certain. The races need a write that takes a while, compared with the round
// trip to the store. If the store is a fake behind a network, make its writes slow; then move the
// check of the token out of the atomic operation once, and see that the suite fails.
package guardtest

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redlock-go/redlock/fence"
)

// Store is implemented by a guard's test: a store in which every resource has one value, written
// through the guard. All methods are called by many goroutines at once.
//
// Resource names have up to 100 bytes of UTF-8, with letters beyond ASCII, spaces and slashes, but no control
// characters and no braces. Names are never used twice, so the store may still have the data of earlier runs.
type Store interface {
	fence.Guard

	// Write sets the value of resource in one guarded operation.
	Write(ctx context.Context, resource string, token fence.Token, value string) error

	// Fail makes the same write as Write, but the write fails after the guard has let it pass. It fails
	// in a way that is usual for this store: a rollback, an error of a script, an error of a handler.
	// Fail returns that error, or the guard's error.
	Fail(ctx context.Context, resource string, token fence.Token, value string) error

	// Read returns the value of resource, "" before the first write. It bypasses the guard, and
	// must see every write that has returned.
	Read(ctx context.Context, resource string) (string, error)
}

// checkTimeout ends a check whose guard hangs. A check takes far less than a second on a healthy
// store; the rest is for a loaded machine.
const checkTimeout = 2 * time.Minute

// check is one sentence of the contract. Its function run returns an error instead of failing a test, so that the suite
// can be tested against guards that are known to be broken. Each run gets a new resource.
type check struct {
	name string
	run  func(ctx context.Context, store Store, resource string) error
}

var checks = []check{
	{"a lower token is refused and both are named", lowerRefused},
	{"an equal token passes", equalPasses},
	{"gaps are allowed", gapsAllowed},
	{"the zero token is refused", zeroRefused},
	{"an empty resource is refused", emptyResourceRefused},
	{"a claim without a write fences older ones", claimFences},
	{"a write raises the fence", writeFences},
	{"a failed write does not lower the fence", failKeepsFence},
	{"resources are independent", resourcesIndependent},
	{"tokens are compared as whole numbers", comparedExactly},
	{"a second lock name for a resource is noticed", otherLockNameNoticed},
	{"the first claims of a resource may race", firstClaimsRace},
	{"the first writes of a resource may race and fail", firstFailuresRace},
	{"equal tokens may race", equalTokensRace},
	{"of racing writers the highest is last", highestIsLast},
	{"no older write lands after a newer claim", overtakenLandsNothing},
	{"no write is lost between a claim and its writes", noLostWrites},
}

// Run runs the whole suite as parallel subtests of t.
func Run(t *testing.T, store Store) {
	t.Helper()
	for _, check := range checks {
		t.Run(check.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), checkTimeout)
			defer cancel()
			if err := check.run(ctx, store, "guardtest/"+rand.Text()); err != nil {
				t.Error(err)
			}
		})
	}
}
