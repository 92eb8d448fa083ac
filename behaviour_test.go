package redlock

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testservers"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// The behaviour suite. It runs on embedded masters in virtual time, and on
// redis-server processes in real time, so that the fake cannot lie. Virtual time
// proves the exact moments; on processes the times are such that a machine that
// stands still for a few tenths of a second, as those that run CI do, changes no
// outcome.

type behaviour struct {
	name    string
	masters int
	run     func(t *testing.T, d *deployment)
}

var behaviours = []behaviour{
	{"OneHolderAtATime", 5, oneHolderAtATime},
	{"TokensGrow", 3, tokensGrow},
	{"MinorityDown", 0, minorityDown},
	{"MajorityDown", 0, majorityDown},
	{"ReEntry", 5, reEntry},
	{"ReEntryMissingOnOneMaster", 5, reEntryMissingOnOneMaster},
	{"ReEntryNeverShortens", 3, reEntryNeverShortens},
	{"FixedLeaseExpires", 3, fixedLeaseExpires},
	{"WatchdogRenews", 5, watchdogRenews},
	{"MaxHold", 3, maxHold},
	{"LockDelay", 3, lockDelay},
	{"ExtendLengthens", 3, extendLengthens},
	{"LostOnAMajority", 5, lostOnAMajority},
	{"LostOnAMinority", 5, lostOnAMinority},
	{"LockWithoutTTL", 3, lockWithoutTTL},
	{"LockFromTheFuture", 3, lockFromTheFuture},
	{"UnlockTwice", 3, unlockTwice},
	{"LockWaits", 3, lockWaits},
	{"LockGivesUp", 3, lockGivesUp},
	{"FirstComeFirstServed", 3, firstComeFirstServed},
	{"Do", 3, doUnlocks},
	{"DeadContextDoesNotStopUnlock", 3, deadContextDoesNotStopUnlock},
	{"CancelledAttemptLeavesNothing", 5, cancelledAttemptLeavesNothing},
	{"Close", 3, closeReleases},
	{"OneHandleManyGoroutines", 3, oneHandleManyGoroutines},
	{"SuspendedHolder", 3, suspendedHolder},

	// Of locks_test.go.
	{"AllOrNone", 5, allOrNone},
	{"NoneOnAnyMaster", 3, noneOnAnyMaster},
	{"SetRenews", 3, setRenews},
	{"SetExtends", 3, setExtends},
	{"LossOfOneIsLossOfAll", 5, lossOfOneIsLossOfAll},
	{"SetRepairs", 3, setRepairs},
	{"SetMaxHold", 3, setMaxHold},
	{"SetReEntry", 3, setReEntry},
	{"SetWaitsInOrder", 3, setWaitsInOrder},
	{"SetLosesAPart", 3, setLosesAPart},
	{"SetGivesUp", 3, setGivesUp},
	{"CloseReleasesSets", 3, closeReleasesSets},

	// Of slots_test.go.
	{"SlotsAdmitSoMany", 3, slotsAdmitSoMany},
	{"AnySlotEndsTheWait", 3, anySlotEndsTheWait},
	{"SlotsServeAll", 3, slotsServeAll},
	{"SlotsOfCallersThatDisagree", 3, slotsOfCallersThatDisagree},

	// Of waiting_test.go.
	{"WokenByARelease", 5, wokenByARelease},
	{"WokenByTheEndOfALease", 5, wokenByTheEndOfALease},
	{"ServedInOrderAcrossClients", 5, servedInOrderAcrossClients},
	{"AGoneWaiterIsPassedOver", 3, aGoneWaiterIsPassedOver},
	{"AWaiterThatGivesUpLeaves", 3, aWaiterThatGivesUpLeaves},
	{"AWaiterThatGivesUpInAnOutageLeaves", 3, aWaiterThatGivesUpInAnOutageLeaves},
	{"OneClientKeepsANameForSoLong", 3, oneClientKeepsANameForSoLong},
	{"AFreeMasterMisleadsNobody", 5, aFreeMasterMisleadsNobody},
	{"ARepairComesBeforeACall", 3, aRepairComesBeforeACall},
	{"SubscriptionsEndWithTheWaiting", 3, subscriptionsEndWithTheWaiting},

	// Of inspect_test.go.

	// Of linger_test.go.
	{"WithHoldAtLeast", 5, holdAtLeast},
	{"LingersAfterAnOutage", 3, lingersAfterAnOutage},
	{"LingersBeyondClose", 3, lingersBeyondClose},

	// Of force_test.go.
	{"ForceUnlock", 5, forceUnlock},
	{"ForcedHolderIsTold", 3, forcedHolderIsTold},
	{"ForceTakesOnlyWhatWasShown", 5, forceTakesOnlyWhatWasShown},
	{"ForcedHolderStaysOut", 5, forcedHolderStaysOut},
	{"ForceNeedsAQuorum", 5, forceNeedsAQuorum},
	{"ForceOutReaders", 5, forceOutReaders},
	{"ForceEndsLingering", 5, forceEndsLingering},

	// Of readers_test.go.
	{"ManyReadersOrOneWriter", 5, manyReadersOrOneWriter},
	{"ReadersExpireAlone", 3, readersExpireAlone},
	{"DeadReaderIsWaitedForNoLonger", 3, deadReaderIsWaitedForNoLonger},
	{"WritersAreNotStarved", 5, writersAreNotStarved},
	{"ReadersAreCalledUpToTheFirstWriter", 5, readersAreCalledUpToTheFirstWriter},
	{"ReadersOfOneClientGoTogether", 3, readersOfOneClientGoTogether},
	{"ReadersAreCalledWhenAWriterGivesUp", 3, readersAreCalledWhenAWriterGivesUp},
	{"Downgrade", 5, downgrade},
	{"DowngradeKeepsWritersOut", 5, downgradeKeepsWritersOut},
	{"DowngradeLetsOwnReadersIn", 3, downgradeLetsOwnReadersIn},
	{"DowngradeInAMix", 5, downgradeInAMix},
	{"UpgradeIsRefused", 3, upgradeIsRefused},
	{"ReEntryOfReadersAndWriters", 3, reEntryOfReadersAndWriters},
	{"LastTokenTellsOfWriters", 5, lastTokenTellsOfWriters},
	{"GuardsRefuseReaders", 3, guardsRefuseReaders},
	{"DoRead", 3, doReads},
	{"ReaderIsLostOrRepaired", 5, readerIsLostOrRepaired},
	{"ReadersAndWritersContend", 5, readersAndWritersContend},
	{"ReadersAreGivenBack", 3, readersAreGivenBack},
	{"AReEnteredReaderThatDies", 3, aReEnteredReaderThatDies},
	{"ManyReadersAreRenewed", 3, manyReadersAreRenewed},
	{"AShortReaderCutsNoOther", 3, aShortReaderCutsNoOther},
	{"AnUnlockedReaderIsNotRenewed", 3, anUnlockedReaderIsNotRenewed},
	{"AReleaseWakesTheWriters", 3, aReleaseWakesTheWriters},
}

func TestBehaviourEmbedded(t *testing.T) {
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			eachSize(t, b.masters, func(t *testing.T, n int) { inVirtualTime(t, n, b.run) })
		})
	}
}

func TestBehaviourRedis(t *testing.T) {
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			eachSize(t, b.masters, func(t *testing.T, n int) { onProcesses(t, n, b.run) })
		})
	}
}

// On the redis-server of each line that README names.
func TestBehaviourOnEachLine(t *testing.T) {
	for _, program := range testservers.Programs(t) { // one line after the other: all at once are too many servers for two cores
		t.Run(testservers.LineOf(program), func(t *testing.T) {
			for _, b := range behaviours {
				t.Run(b.name, func(t *testing.T) {
					t.Parallel()
					eachSize(t, b.masters, func(t *testing.T, n int) { onProgram(t, program, n, b.run) })
				})
			}
		})
	}
}

// README names the lines on which the tests run, and the servers are of these.
func TestServersAreOfTheirLines(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	must(t, err)
	var named []string
	for _, found := range regexp.MustCompile(`\b(Redis|Valkey) (\d[\d.]*\d(?:(?:,| and) \d[\d.]*\d)*)`).FindAllSubmatch(text, -1) {
		for _, version := range regexp.MustCompile(`\d[\d.]*\d`).FindAll(found[2], -1) {
			named = append(named, strings.ToLower(string(found[1]))+"-"+string(version))
		}
	}
	slices.Sort(named)
	if named = slices.Compact(named); !slices.Equal(named, testservers.Lines) {
		t.Errorf("README names %v, and the tests run on %v", named, testservers.Lines)
	}
	testservers.OnEachLine(t, func(t *testing.T, program string) {
		said, err := exec.Command(program, "--version").Output()
		must(t, err)
		kind, version, _ := strings.Cut(testservers.LineOf(program), "-")
		if !regexp.MustCompile(`(?i)^` + kind + ` server v=` + regexp.QuoteMeta(version) + `\.`).Match(said) {
			t.Errorf("it is %s", said)
		}
	})
}

// eachSize runs test with n masters, or with all sizes that matter if n is 0.
func eachSize(t *testing.T, n int, test func(t *testing.T, n int)) {
	if n != 0 {
		test(t, n)
		return
	}
	for _, n := range []int{1, 2, 3, 4, 5, 7} {
		t.Run("N="+string(rune('0'+n)), func(t *testing.T) { test(t, n) })
	}
}

func oneHolderAtATime(t *testing.T, d *deployment) {
	patient := WithRequestTimeout(d.either(limits.DefaultRequestTimeout, 10*time.Second)) // their first call founds the masters
	a, b := d.client(patient), d.client(patient)
	held := mustTry(t, a, "job")
	_, err := b.TryLock(background, "job")
	requireErr(t, err, ErrNotAcquired, ErrHeld)
	var q *QuorumError
	if !errors.As(err, &q) || q.FreeIn <= 0 || q.FreeIn > limits.DefaultTTL || len(q.Votes) != 5 || q.Need != 3 {
		t.Errorf("the error does not say enough: %+v", q)
	}
	_, err = a.TryLock(background, "job")
	requireErr(t, err, ErrHeld)
	other := mustTry(t, b, "another job")
	must(t, other.Unlock(background))

	must(t, held.Unlock(background))
	eventually(t, "free everywhere", func() bool { return d.holders("job") == "00000" })
	next := mustTry(t, b, "job")
	must(t, next.Unlock(background))
}

func tokensGrow(t *testing.T, d *deployment) {
	clients := []*Client{d.reached(), d.reached()}
	last := fence.Token(0)
	for i := range 20 {
		lock := mustTry(t, clients[i%2], "job")
		if lock.Token() <= last || !lock.Token().Valid() {
			t.Fatalf("token %d after %d", lock.Token(), last)
		}
		last = lock.Token()
		must(t, lock.Unlock(background))
	}
	if least := fence.Token(time.Now().UnixMilli() - time.Hour.Milliseconds()); last < least {
		t.Errorf("token %d: counters of a new deployment start at the Unix time in ms", last)
	}
}

// A minority that is dead or hung stops nothing, and costs nothing either: the
// others are enough.
func minorityDown(t *testing.T, d *deployment) {
	c := d.reached(WithRequestTimeout(d.request()), WithTTL(d.ttl()))
	n := len(d.masters)
	for _, how := range []struct {
		name       string
		hurt, heal func(testMaster)
	}{
		{"dead", testMaster.die, testMaster.revive},
		{"hung", testMaster.freeze, testMaster.thaw},
	} {
		for i := range n - (n/2 + 1) {
			how.hurt(d.masters[i])
		}
		for range 10 {
			start := time.Now()
			lock := mustTry(t, c, "job")
			if took := time.Since(start); took > d.request()/2 {
				t.Errorf("%s: TryLock took %v", how.name, took)
			}
			must(t, lock.Unlock(background))
			if took := time.Since(start); took > d.request() {
				t.Errorf("%s: with Unlock it took %v", how.name, took)
			}
		}
		for i := range n - (n/2 + 1) {
			how.heal(d.masters[i])
		}
	}
}

func majorityDown(t *testing.T, d *deployment) {
	c := d.reached(WithRequestTimeout(d.request()), WithTTL(d.ttl()))
	down := len(d.masters) - testvotes.MajorityOf(len(d.masters)) + 1 // so many that the others are no quorum
	for _, how := range []struct {
		name       string
		hurt, heal func(testMaster)
	}{
		{"hung", testMaster.freeze, testMaster.thaw},
		{"dead", testMaster.die, testMaster.revive},
	} {
		for i := range down {
			how.hurt(d.masters[i])
		}
		name := "job-" + how.name // one that no straggler holds
		start := time.Now()
		_, err := c.TryLock(background, name)
		requireErr(t, err, ErrNotAcquired, ErrNoQuorum)
		if errors.Is(err, ErrHeld) {
			t.Errorf("%s: unreachable is not held: %v", how.name, err)
		}
		if took := time.Since(start); took > d.request()+d.request()/2 {
			t.Errorf("%s: the error took %v, the request timeout is %v", how.name, took, d.request())
		}
		for i := range down {
			how.heal(d.masters[i])
		}
		// What was asked of the hung ones is rolled back, so the name is free well
		// before the ttl is over.
		lock, err := c.Lock(background, name)
		must(t, err)
		must(t, lock.Unlock(background))
	}
}

func reEntry(t *testing.T, d *deployment) {
	a, b := d.reached(), d.reached()
	outer := mustTry(t, a, "job")
	inner, err := a.TryLock(outer.Context(), "job")
	must(t, err)
	innermost, err := a.Lock(inner.Context(), "job")
	must(t, err)
	if inner.Token() != outer.Token() || innermost.Token() != outer.Token() {
		t.Errorf("tokens %v, %v, %v of one hold", outer.Token(), inner.Token(), innermost.Token())
	}
	settled(t, a)
	if depth := lockOn(t, d.raw[0], "job").depth; depth != "3" {
		t.Errorf("depth on the master is %q, want 3", depth)
	}
	if _, err := a.TryLock(background, "job"); !errors.Is(err, ErrHeld) {
		t.Errorf("another context of the same client got %v", err)
	}
	other, err := a.TryLock(outer.Context(), "other job")
	must(t, err)
	nested, err := a.TryLock(other.Context(), "job")
	must(t, err)
	must(t, nested.Unlock(background))
	must(t, other.Unlock(background))

	// Any order: the outermost first.
	must(t, outer.Unlock(background))
	if err := innermost.Context().Err(); err != nil {
		t.Errorf("the hold goes on, but its context ended: %v", err)
	}
	must(t, innermost.Unlock(background))
	if _, err := b.TryLock(background, "job"); !errors.Is(err, ErrHeld) {
		t.Errorf("one entry is left, but a rival got %v", err)
	}
	if !inner.Valid() || innermost.Valid() {
		t.Error("only the handle that is left is valid")
	}
	must(t, inner.Unlock(background))
	eventually(t, "free everywhere", func() bool { return d.holders("job") == "00000" })
	if cause := context.Cause(outer.Context()); cause != ErrReleased {
		t.Errorf("cause %v", cause)
	}
	must(t, mustTry(t, b, "job").Unlock(background))
}

// Redlocks that count +1 and -1 on each master free the lock at the first Unlock
// where the re-entry was missed.
func reEntryMissingOnOneMaster(t *testing.T, d *deployment) {
	a, b := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	outer := mustTry(t, a, "job")
	settled(t, a)
	d.masters[0].die()
	d.masters[1].die()
	inner, err := a.TryLock(outer.Context(), "job")
	must(t, err)
	d.masters[0].revive()
	d.masters[1].revive()
	eventually(t, "all masters are up", func() bool {
		must(t, mustTry(t, a, "reaching").Unlock(background))
		return allUp(a)
	})
	must(t, inner.Unlock(background))
	settled(t, a)
	if got := d.holders("job"); got != "11111" {
		t.Errorf("after the inner Unlock held on %s", got)
	}
	if _, err := b.TryLock(background, "job"); !errors.Is(err, ErrHeld) {
		t.Fatalf("after the inner Unlock a rival got %v", err)
	}
	must(t, outer.Unlock(background))
	eventually(t, "freed everywhere", func() bool { return d.holders("job") == "00000" })
}

func reEntryNeverShortens(t *testing.T, d *deployment) {
	c := d.reached()
	outer := mustTry(t, c, "job", WithTTL(30*time.Second), WithoutWatchdog())
	before := outer.Until()
	inner, err := c.TryLock(outer.Context(), "job", WithTTL(time.Second))
	must(t, err)
	if after := inner.Until(); after.Before(before.Add(-50 * time.Millisecond)) {
		t.Errorf("a re-entry with a shorter ttl moved the end from %v to %v", before, after)
	}
	settled(t, c)
	left, err := d.raw[0].PTTL(background, script.KeysOf(limits.DefaultPrefix, "job", "").Lock).Result()
	if err != nil || left < 20*time.Second {
		t.Errorf("%v left on the master (%v)", left, err)
	}
	must(t, inner.Unlock(background))
	must(t, outer.Unlock(background))
}

func fixedLeaseExpires(t *testing.T, d *deployment) {
	a, b := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	start := time.Now()
	lock := mustTry(t, a, "job", WithTTL(d.ttl()), WithoutWatchdog())
	if !lock.Valid() {
		t.Error("not valid at first")
	}
	next, err := b.Lock(background, "job")
	must(t, err)
	if took := time.Since(start); took < d.ttl()-time.Millisecond {
		t.Errorf("a rival got in after %v of %v", took, d.ttl())
	}
	select {
	case <-lock.Context().Done():
	default:
		t.Error("a rival holds, and the old holder was not told")
	}
	if cause := context.Cause(lock.Context()); cause != ErrExpired || lock.Valid() {
		t.Errorf("cause %v, valid %v", cause, lock.Valid())
	}
	requireErr(t, lock.Extend(background, d.ttl()), ErrExpired)
	_, err = a.TryLock(context.WithoutCancel(lock.Context()), "job")
	requireErr(t, err, ErrNotAcquired, ErrExpired)
	requireErr(t, lock.Unlock(background), ErrExpired)
	if !next.Valid() || d.holders("job") == "000" {
		t.Error("the late Unlock freed the rival's lock")
	}
	if next.Token() <= lock.Token() {
		t.Errorf("token %v after %v", next.Token(), lock.Token())
	}
	must(t, next.Unlock(background))
}

func watchdogRenews(t *testing.T, d *deployment) {
	events := &recorder{}
	a := d.reached(WithRequestTimeout(d.request()), WithObserver(Observer{
		Renewed: func(context.Context, Renewal) { events.note("renewed") },
	}))
	b := d.reached(WithRequestTimeout(d.request()))
	lock := mustTry(t, a, "job", WithTTL(d.ttl()))
	end := time.Now().Add(3 * d.ttl())
	for time.Now().Before(end) {
		if _, err := b.TryLock(background, "job"); !errors.Is(err, ErrNotAcquired) {
			t.Fatalf("a rival got %v", err)
		}
		if err := context.Cause(lock.Context()); err != nil || !lock.Valid() {
			t.Fatalf("ended while it was renewed: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if n := events.count("renewed"); n < 5 {
		t.Errorf("%d renewals in three ttls", n)
	}
	must(t, lock.Unlock(background))
	eventually(t, "free everywhere", func() bool { return d.holders("job") == "00000" })
}

func maxHold(t *testing.T, d *deployment) {
	c := d.reached(WithRequestTimeout(d.request()))
	start := time.Now()
	lock := mustTry(t, c, "job", WithTTL(d.ttl()), WithMaxHold(2*d.ttl()))
	within(t, "the bound ends the hold", lock.Context().Done())
	if took := time.Since(start); took < 2*d.ttl()-20*time.Millisecond || took > 2*d.ttl()+d.ttl()/2 {
		t.Errorf("ended after %v, want %v", took, 2*d.ttl())
	}
	if cause := context.Cause(lock.Context()); cause != ErrExpired {
		t.Errorf("cause %v", cause)
	}
	next, err := c.Lock(background, "job")
	must(t, err)
	if took := time.Since(start); took > 3*d.ttl()+d.ttl()/2 {
		t.Errorf("free after %v: it was renewed beyond the bound", took)
	}
	must(t, next.Unlock(background))
	requireErr(t, lock.Unlock(background), ErrExpired)
}

func lockDelay(t *testing.T, d *deployment) {
	a, b := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	start := time.Now()
	lock := mustTry(t, a, "job", WithTTL(d.ttl()), WithLockDelay(d.ttl()), WithoutWatchdog())
	<-lock.Context().Done()
	told := time.Since(start)
	next, err := b.Lock(background, "job")
	must(t, err)
	if free := time.Since(start); told > d.ttl()+d.ttl()/3 || free < 2*d.ttl()-time.Millisecond {
		t.Errorf("told after %v, free after %v; ttl and delay are %v each", told, free, d.ttl())
	}
	must(t, next.Unlock(background))
	// An explicit Unlock frees at once.
	must(t, mustTry(t, a, "job", WithLockDelay(20*time.Second)).Unlock(background))
	must(t, mustTry(t, b, "job").Unlock(background))
}

func extendLengthens(t *testing.T, d *deployment) {
	c := d.reached(WithRequestTimeout(d.request()))
	lock := mustTry(t, c, "job", WithTTL(d.ttl()), WithoutWatchdog())
	must(t, lock.Extend(background, 20*time.Second))
	if left := time.Until(lock.Until()); left < 19*time.Second {
		t.Errorf("%v left after Extend by 20 s", left)
	}
	must(t, lock.Extend(background, d.ttl()))
	if left := time.Until(lock.Until()); left < 18*time.Second {
		t.Errorf("Extend by less shortened the lease to %v", left)
	}
	settled(t, c)
	if left, err := d.raw[0].PTTL(background, script.KeysOf(limits.DefaultPrefix, "job", "").Lock).Result(); err != nil || left < 18*time.Second {
		t.Errorf("%v left on the master (%v): a late, older extend would have cut the lease", left, err)
	}
	requireOptionError(t, lock.Extend(background, time.Hour), "ttl")
	requireOptionError(t, lock.Extend(background, 0), "ttl")
	cancelled, cancel := context.WithCancel(background)
	cancel()
	requireErr(t, lock.Extend(cancelled, d.ttl()), context.Canceled)
	must(t, lock.Unlock(background))
	requireErr(t, lock.Extend(background, d.ttl()), ErrReleased)
}

func lostOnAMajority(t *testing.T, d *deployment) {
	c := d.reached(WithRequestTimeout(d.request()))
	lock := mustTry(t, c, "job", WithTTL(d.ttl()))
	until := lock.Until()
	d.drop(c, "job", 0, 1, 2)
	within(t, "the holder is told", lock.Context().Done())
	if cause := context.Cause(lock.Context()); cause != ErrLost || lock.Valid() {
		t.Errorf("cause %v, valid %v", cause, lock.Valid())
	}
	if time.Now().After(until) {
		t.Error("told at the deadline only, not as soon as a quorum said no")
	}
	if got := d.holders("job"); strings.HasPrefix(got, "1") {
		t.Errorf("the renewal made the lost lock anew: %s", got)
	}
	requireErr(t, lock.Unlock(background), ErrLost)
	eventually(t, "what was left is released", func() bool { return d.holders("job") == "00000" })

	fixed := mustTry(t, c, "job", WithoutWatchdog())
	d.drop(c, "job", 0, 1, 2)
	requireErr(t, fixed.Extend(background, d.ttl()), ErrLost)
	requireErr(t, fixed.Unlock(background), ErrLost)

	gone := mustTry(t, c, "job", WithoutWatchdog())
	d.drop(c, "job", 0, 1, 2)
	requireErr(t, gone.Unlock(background), ErrLost)

	again := mustTry(t, c, "job", WithoutWatchdog())
	d.drop(c, "job", 0, 1, 2)
	_, err := c.TryLock(again.Context(), "job")
	requireErr(t, err, ErrNotAcquired, ErrLost)
	if got := d.holders("job"); !strings.HasPrefix(got, "000") {
		t.Errorf("the re-entry made the lost lock anew: %s", got)
	}
	requireErr(t, again.Unlock(background), ErrLost)
}

func lostOnAMinority(t *testing.T, d *deployment) {
	c := d.reached(WithRequestTimeout(d.request()))
	lock := mustTry(t, c, "job", WithTTL(d.ttl()))
	d.drop(c, "job", 0, 1)
	select {
	case <-lock.Context().Done():
		t.Errorf("a quorum still grants, but the hold ended: %v", context.Cause(lock.Context()))
	case <-time.After(2 * d.ttl()):
	}
	must(t, lock.Unlock(background))
}

// A lock that lost its ttl is held, until its owner's lease must have ended,
// however short those of its rivals are: the owner may be valid, and renew later.
func lockWithoutTTL(t *testing.T, d *deployment) {
	lockWithWrongTTL(t, d, func(r *redis.Client, lock string) error { return r.Persist(background, lock).Err() })
}

// So is one that was written while the masters' clocks were ahead, which were set back since.
func lockFromTheFuture(t *testing.T, d *deployment) {
	lockWithWrongTTL(t, d, func(r *redis.Client, lock string) error { return r.PExpire(background, lock, time.Hour).Err() })
}

func lockWithWrongTTL(t *testing.T, d *deployment, spoil func(r *redis.Client, lock string) error) {
	longest := 4 * d.ttl()
	settings := []Option{WithRequestTimeout(d.request()), WithMaxTTL(longest), WithTTL(d.ttl())}
	owner, rival := d.client(settings...), d.client(settings...)
	mustTry(t, owner, "abandoned", WithoutWatchdog())
	kept := mustTry(t, owner, "job", WithTTL(longest))
	settled(t, owner) // else a master sets the ttl after it was taken away
	for _, name := range []string{"abandoned", "job"} {
		for _, r := range d.raw {
			must(t, spoil(r, script.KeysOf(limits.DefaultPrefix, name, "").Lock))
		}
		_, err := rival.TryLock(background, name)
		requireErr(t, err, ErrNotAcquired, ErrHeld)
		if q, ok := errors.AsType[*QuorumError](err); !ok || q.FreeIn <= longest-d.request() || q.FreeIn > longest {
			t.Errorf("%v; want free in %v", err, longest)
		}
	}
	_, err := rival.Lock(background, "job", WithWait(longest/2)) // the first renewal is after a third
	requireErr(t, err, ErrHeld)
	if !kept.Valid() {
		t.Errorf("a holder that renews is %v", context.Cause(kept.Context()))
	}
	must(t, kept.Unlock(background))
	next, err := rival.Lock(background, "abandoned", WithWait(2*longest))
	must(t, err)
	must(t, next.Unlock(background))
}

func unlockTwice(t *testing.T, d *deployment) {
	a, b := d.reached(), d.reached()
	lock := mustTry(t, a, "job")
	must(t, lock.Unlock(background))
	next := mustTry(t, b, "job")
	requireErr(t, lock.Unlock(background), ErrReleased)
	if strings.Count(d.holders("job"), "1") < 2 {
		t.Error("a stale Unlock freed a newer lock")
	}
	if lock.Valid() || context.Cause(lock.Context()) != ErrReleased {
		t.Errorf("valid %v, cause %v after Unlock", lock.Valid(), context.Cause(lock.Context()))
	}
	must(t, next.Unlock(background))
}

func lockWaits(t *testing.T, d *deployment) {
	a, b := d.reached(), d.reached()
	lock := mustTry(t, a, "job")
	got := make(chan *Lock)
	go func() {
		next, err := b.Lock(background, "job")
		if err != nil {
			t.Error(err)
		}
		got <- next
	}()
	select {
	case <-got:
		t.Error("two holders")
	case <-time.After(100 * time.Millisecond):
	}
	must(t, lock.Unlock(background))
	start := time.Now()
	next := <-got
	if took := time.Since(start); took > d.either(2*maxPause, askInterval) {
		t.Errorf("free for %v before the waiter had it", took)
	}
	must(t, next.Unlock(background))
}

func lockGivesUp(t *testing.T, d *deployment) {
	a, b := d.reached(), d.reached()
	held := mustTry(t, a, "job")
	stop := errors.New("the user pressed stop")
	for _, c := range []*Client{a, b} {
		ctx, cancel := context.WithCancelCause(background)
		gaveUp := make(chan error, 1)
		go func() {
			_, err := c.Lock(ctx, "job")
			gaveUp <- err
		}()
		if c == a {
			eventually(t, "it waits for the holder", func() bool { return c.queues.Waiting("job") == 1 })
		} else {
			d.ticketOf(c, "job")
			settled(t, c)
		}
		cancel(stop)
		requireErr(t, <-gaveUp, stop, ErrNotAcquired, ErrHeld)

		_, err := c.Lock(background, "job", WithWait(d.either(50*time.Millisecond, time.Second)))
		requireErr(t, err, context.DeadlineExceeded, ErrNotAcquired, ErrHeld)
	}
	dead, cancel := context.WithCancelCause(background)
	cancel(stop)
	_, err := b.Lock(dead, "job")
	requireErr(t, err, stop)
	_, err = b.TryLock(dead, "job")
	requireErr(t, err, stop)
	must(t, held.Unlock(background))
	short, cancelShort := context.WithTimeout(background, patience)
	defer cancelShort()
	lock, err := b.Lock(short, "job", WithWait(patience/2))
	must(t, err)
	must(t, lock.Unlock(background))
}

func firstComeFirstServed(t *testing.T, d *deployment) {
	c := d.reached()
	held := mustTry(t, c, "job")
	var mu sync.Mutex
	var order []int
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			lock, err := c.Lock(background, "job")
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			if err := lock.Unlock(background); err != nil {
				t.Error(err)
			}
		})
		eventually(t, "in line", func() bool { return c.queues.Waiting("job") == i+1 })
	}
	must(t, held.Unlock(background))
	all.Wait()
	for i, who := range order {
		if i != who {
			t.Fatalf("served in order %v", order)
		}
	}
}

func doUnlocks(t *testing.T, d *deployment) {
	c := d.reached(WithRequestTimeout(d.request()))
	wrong := errors.New("work failed")
	var saw context.Context
	err := c.Do(background, "job", func(ctx context.Context, token fence.Token) error {
		saw = ctx
		if !token.Valid() || strings.Count(d.holders("job"), "1") < 2 {
			t.Errorf("token %v, held on %s", token, d.holders("job"))
		}
		return wrong
	})
	if !errors.Is(err, wrong) || context.Cause(saw) != ErrReleased {
		t.Errorf("error %v, cause %v", err, context.Cause(saw))
	}
	eventually(t, "free everywhere", func() bool { return d.holders("job") == "000" })
	func() {
		defer func() {
			if recover() != "panicked" {
				t.Error("the panic was swallowed")
			}
		}()
		_ = c.Do(background, "job", func(context.Context, fence.Token) error { panic("panicked") })
	}()
	eventually(t, "free after a panic", func() bool { return d.holders("job") == "000" })
	// The work ends with the hold, and a nil from it hides nothing.
	err = c.Do(background, "job", func(ctx context.Context, _ fence.Token) error {
		d.drop(c, "job", 0, 1)
		<-ctx.Done()
		return nil
	}, WithTTL(d.ttl()))
	requireErr(t, err, ErrLost)
}

func deadContextDoesNotStopUnlock(t *testing.T, d *deployment) {
	c := d.reached()
	ctx, cancel := context.WithCancel(background)
	lock, err := c.TryLock(ctx, "job")
	must(t, err)
	cancel()
	if lock.Context().Err() == nil {
		t.Error("the hold's context is not derived from the caller's")
	}
	if !lock.Valid() {
		t.Error("the end of the caller's context does not end the hold")
	}
	must(t, lock.Unlock(ctx))
	eventually(t, "free everywhere", func() bool { return d.holders("job") == "000" })
}

func cancelledAttemptLeavesNothing(t *testing.T, d *deployment) {
	c := d.reached(WithRequestTimeout(d.request() * 3))
	for i := range 3 {
		d.masters[i].freeze()
	}
	ctx, cancel := context.WithCancel(background)
	cancelled := make(chan error, 1)
	go func() {
		_, err := c.TryLock(ctx, "job")
		cancelled <- err
	}()
	eventually(t, "granted by the others", func() bool {
		return d.raw[3].Exists(background, script.KeysOf(limits.DefaultPrefix, "job", "").Lock).Val() == 1
	})
	cancel()
	requireErr(t, <-cancelled, context.Canceled)
	for i := range 3 {
		d.masters[i].thaw()
	}
	givenBack(t, d, "job", "00000", limits.DefaultTTL/2)
}

func closeReleases(t *testing.T, d *deployment) {
	a, b := d.reached(), d.reached()
	lock := mustTry(t, a, "job")
	waiting := make(chan error)
	go func() {
		_, err := a.Lock(background, "job")
		waiting <- err
	}()
	eventually(t, "in line", func() bool { return a.queues.Waiting("job") == 1 })
	must(t, a.Close())
	requireErr(t, <-waiting, ErrClosed)
	if cause := context.Cause(lock.Context()); cause != ErrClosed || lock.Valid() {
		t.Errorf("cause %v, valid %v", cause, lock.Valid())
	}
	requireErr(t, lock.Unlock(background), ErrClosed)
	requireErr(t, a.Close(), ErrClosed)
	_, err := a.TryLock(background, "job")
	requireErr(t, err, ErrClosed)
	must(t, mustTry(t, b, "job").Unlock(background))
}

func oneHandleManyGoroutines(t *testing.T, d *deployment) {
	c := d.reached()
	lock := mustTry(t, c, "job")
	var entered atomic.Int64
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			inner, err := c.Lock(lock.Context(), "job")
			if err != nil {
				t.Error(err)
				return
			}
			entered.Add(1)
			_ = inner.Valid()
			_ = lock.Until()
			if err := lock.Extend(background, 10*time.Second); err != nil {
				t.Error(err)
			}
			if err := inner.Unlock(background); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var unlocked atomic.Int64
	for range 100 {
		all.Go(func() {
			switch err := lock.Unlock(background); {
			case err == nil:
				unlocked.Add(1)
			case !errors.Is(err, ErrReleased):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if entered.Load() != 100 || unlocked.Load() != 1 {
		t.Errorf("%d entered, %d unlocked", entered.Load(), unlocked.Load())
	}
	eventually(t, "free everywhere", func() bool { return d.holders("job") == "000" })
}

// A suspension stops Go's timers, but not the masters' leases.
func suspendedHolder(t *testing.T, d *deployment) {
	if !d.virtual {
		t.Log("a machine cannot be suspended here: shown in virtual time only, and by SIGSTOP in the demo's test")
		return
	}
	c := d.reached()
	lock := mustTry(t, c, "job", WithTTL(10*time.Second))
	d.slept.Add(int64(time.Minute))
	if lock.Valid() {
		t.Error("valid after a minute's sleep with a lease of 10 s")
	}
	start := time.Now()
	<-lock.Context().Done()
	if took := time.Since(start); took > lease.SuspendInterval {
		t.Errorf("told %v after the resume", took)
	}
	requireErr(t, context.Cause(lock.Context()), ErrExpired)
	requireErr(t, lock.Unlock(background), ErrExpired)
}
