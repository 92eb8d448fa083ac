package redlock_test

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

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testrights"
	"github.com/redlock-go/redlock/internal/testservers"
	"github.com/redlock-go/redlock/internal/testvotes"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// The behaviour suite runs on embedded masters in virtual time, which shows exact moments, and on redis-server
// processes, which shows that the embedded masters behave like Redis. On processes the times allow for a
// machine that stalls for a few tenths of a second.

type behaviour struct {
	name    string
	masters int
	run     func(t *testing.T, d *harness.Deployment)
}

var behaviours = []behaviour{
	{"OneHolderAtATime", 5, oneHolderAtATime},
	{"TokensGrow", 3, tokensGrow},
	{"MinorityDown", 0, minorityDown},
	{"MajorityDown", 0, majorityDown},
	{"Reentry", 5, reentry},
	{"ReentryMissingOnOneMaster", 5, reentryMissingOnOneMaster},
	{"ReentryNeverShortens", 3, reentryNeverShortens},
	{"FixedLeaseExpires", 3, fixedLeaseExpires},
	{"WatchdogRenews", 5, watchdogRenews},
	{"MaxHold", 3, maxHold},
	{"LockDelay", 3, lockDelay},
	{"ExtendLengthens", 3, extendLengthens},
	{"LostOnMajority", 5, lostOnMajority},
	{"LostOnMinority", 5, lostOnMinority},
	{"LockWithoutTTL", 3, lockWithoutTTL},
	{"LockFromTheFuture", 3, lockFromTheFuture},
	{"UnlockTwice", 3, unlockTwice},
	{"LockWaits", 3, lockWaits},
	{"LockWaitTimeout", 3, lockWaitTimeout},
	{"Do", 3, doUnlocks},
	{"DeadContextDoesNotStopUnlock", 3, deadContextDoesNotStopUnlock},
	{"CancelledAttemptLeavesNothing", 5, cancelledAttemptLeavesNothing},
	{"Close", 3, closeReleases},
	{"OneHandleManyGoroutines", 3, oneHandleManyGoroutines},
	{"SuspendedHolder", 3, suspendedHolder},

	// In locks_test.go:
	{"AllOrNone", 5, allOrNone},
	{"SetRenews", 3, setRenews},
	{"SetLossOfOneLosesAll", 5, setLossOfOneLosesAll},
	{"SetReentry", 3, setReentry},
	{"SetWaitTimeout", 3, setWaitTimeout},
	{"CloseReleasesSets", 3, closeReleasesSets},

	// In slots_test.go:
	{"SlotsLimitHolders", 3, slotsLimitHolders},
	{"AnySlotEndsWait", 3, anySlotEndsWait},
	{"SlotsServeAll", 3, slotsServeAll},
	{"SlotsWithDifferentCounts", 3, slotsWithDifferentCounts},

	// In waiting_test.go:
	{"WokenByRelease", 5, wokenByRelease},
	{"WokenByLeaseEnd", 5, wokenByLeaseEnd},
	{"ServedInOrderAcrossClients", 5, servedInOrderAcrossClients},
	{"AbandonedWaitLeavesQueue", 3, abandonedWaitLeavesQueue},
	{"AbandonedWaitInOutageLeavesQueue", 3, abandonedWaitInOutageLeavesQueue},
	{"ClientKeepsNameForBoundedTime", 3, clientKeepsNameForBoundedTime},

	// In linger_test.go:
	{"WithHoldAtLeast", 5, holdAtLeast},
	{"LingersAfterOutage", 3, lingersAfterOutage},
	{"LingersBeyondClose", 3, lingersBeyondClose},

	// In force_test.go:
	{"ForceUnlock", 5, forceUnlock},

	// In readers_test.go:
	{"ManyReadersOrOneWriter", 5, manyReadersOrOneWriter},
	{"ReadersExpireAlone", 3, readersExpireAlone},
	{"DeadReaderBlocksForItsTTL", 3, deadReaderBlocksForItsTTL},
	{"WritersAreNotStarved", 5, writersAreNotStarved},
	{"ReadersAreCalledUpToFirstWriter", 5, readersAreCalledUpToFirstWriter},
	{"Downgrade", 5, downgrade},
	{"UpgradeIsRefused", 3, upgradeIsRefused},
	{"ReentryOfReadersAndWriters", 3, reentryOfReadersAndWriters},
	{"GuardsRefuseReaders", 3, guardsRefuseReaders},
	{"ReaderIsLostOrRepaired", 5, readerIsLostOrRepaired},
	{"UnlockedReaderIsNotRenewed", 3, unlockedReaderIsNotRenewed},
}

func TestBehaviourEmbedded(t *testing.T) {
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			eachSize(t, b.masters, func(t *testing.T, n int) { harness.InVirtualTime(t, n, b.run) })
		})
	}
}

func TestBehaviourRedis(t *testing.T) {
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			eachSize(t, b.masters, func(t *testing.T, n int) { onProcesses(t, "", n, b.run) })
		})
	}
}

func TestBehaviourOnEachServerLine(t *testing.T) {
	for _, program := range testservers.Programs(t) { // one line after the other: all at once are too many servers for two cores
		t.Run(testservers.LineOf(program), func(t *testing.T) {
			for _, b := range behaviours {
				t.Run(b.name, func(t *testing.T) {
					t.Parallel()
					eachSize(t, b.masters, func(t *testing.T, n int) { onProcesses(t, program, n, b.run) })
				})
			}
		})
	}
}

// onProcesses runs a behaviour on redis-server processes, for a user with the rights of docs/PROTOCOL.md only.
func onProcesses(t *testing.T, program string, n int, run func(t *testing.T, d *harness.Deployment)) {
	t.Helper()
	rule := testrights.Of(testrights.Rule(t, "docs/PROTOCOL.md", "redlock"), program)
	user := map[string]string{"user": "redlock on >pw " + strings.Join(rule, " ")}
	d := harness.Processes(t, n, redisproc.Config{Program: program, AppendFsync: "always", Conf: user})
	for i, m := range d.Masters {
		d.Masters[i] = asUser{m}
	}
	run(t, d)
	for _, r := range d.Raw {
		if log, err := r.Do(context.Background(), "acl", "log").Slice(); err == nil && len(log) > 0 {
			t.Errorf("a master refused %v", log)
		}
	}
}

// asUser is a master whose clients log in as the user.
type asUser struct{ harness.Master }

func (m asUser) Options() *redis.Options {
	o := m.Master.Options()
	o.Username, o.Password = "redlock", "pw"
	return o
}

// README names the server lines on which the tests run. Each server program has a version of its line.
func TestServerLinesMatchReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	harness.Must(t, err)
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
		output, err := exec.Command(program, "--version").Output()
		harness.Must(t, err)
		kind, version, _ := strings.Cut(testservers.LineOf(program), "-")
		if !regexp.MustCompile(`(?i)^` + kind + ` server v=` + regexp.QuoteMeta(version) + `\.`).Match(output) {
			t.Errorf("it is %s", output)
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

func oneHolderAtATime(t *testing.T, d *harness.Deployment) {
	patient := redlock.WithRequestTimeout(d.Either(limits.DefaultRequestTimeout, 10*time.Second)) // the first call of a client founds the masters
	a, b := d.Client(patient), d.Client(patient)
	held := harness.MustTry(t, a, "job")
	_, err := b.TryLock(context.Background(), "job")
	harness.RequireErr(t, err, redlock.ErrNotAcquired, redlock.ErrHeld)
	var q *redlock.QuorumError
	if !errors.As(err, &q) || q.FreeIn <= 0 || q.FreeIn > limits.DefaultTTL || len(q.Votes) != 5 || q.Need != 3 {
		t.Errorf("the error lacks facts: %+v", q)
	}
	harness.RequireErr(t, harness.ErrOf(a.TryLock(context.Background(), "job")), redlock.ErrHeld)
	other := harness.MustTry(t, b, "another job")
	harness.Must(t, other.Unlock(context.Background()))

	harness.Must(t, held.Unlock(context.Background()))
	harness.Eventually(t, "free everywhere", func() bool { return d.Holders("job") == "00000" })
	next := harness.MustTry(t, b, "job")
	harness.Must(t, next.Unlock(context.Background()))
}

func tokensGrow(t *testing.T, d *harness.Deployment) {
	clients := []*redlock.Client{d.Reached(), d.Reached()}
	last := fence.Token(0)
	for i := range 20 {
		lock := harness.MustTry(t, clients[i%2], "job")
		if lock.Token() <= last || !lock.Token().Valid() {
			t.Fatalf("token %d after %d", lock.Token(), last)
		}
		last = lock.Token()
		harness.Must(t, lock.Unlock(context.Background()))
	}
	if least := fence.Token(time.Now().UnixMilli() - time.Hour.Milliseconds()); last < least {
		t.Errorf("token %d: counters of a new deployment start at the Unix time in ms", last)
	}
}

// While only a minority of the masters is dead or hung, all goes on without delay: the other masters are enough.
func minorityDown(t *testing.T, d *harness.Deployment) {
	c := d.Reached(redlock.WithRequestTimeout(d.Request()), redlock.WithTTL(d.TTL()))
	n := len(d.Masters)
	for _, how := range []struct {
		name       string
		hurt, heal func(harness.Master)
	}{
		{"dead", harness.Master.Die, harness.Master.Revive},
		{"hung", harness.Master.Freeze, harness.Master.Thaw},
	} {
		for i := range n - (n/2 + 1) {
			how.hurt(d.Masters[i])
		}
		for range 10 {
			start := time.Now()
			lock := harness.MustTry(t, c, "job")
			if took := time.Since(start); took > d.Request()/2 {
				t.Errorf("%s: TryLock took %v", how.name, took)
			}
			harness.Must(t, lock.Unlock(context.Background()))
			if took := time.Since(start); took > d.Request() {
				t.Errorf("%s: with Unlock it took %v", how.name, took)
			}
		}
		for i := range n - (n/2 + 1) {
			how.heal(d.Masters[i])
		}
	}
}

func majorityDown(t *testing.T, d *harness.Deployment) {
	c := d.Reached(redlock.WithRequestTimeout(d.Request()), redlock.WithTTL(d.TTL()))
	down := len(d.Masters) - testvotes.MajorityOf(len(d.Masters)) + 1 // the fewest masters whose loss leaves no quorum
	for _, how := range []struct {
		name       string
		hurt, heal func(harness.Master)
	}{
		{"hung", harness.Master.Freeze, harness.Master.Thaw},
		{"dead", harness.Master.Die, harness.Master.Revive},
	} {
		for i := range down {
			how.hurt(d.Masters[i])
		}
		name := "job-" + how.name // a name that no late request has locked
		start := time.Now()
		_, err := c.TryLock(context.Background(), name)
		harness.RequireErr(t, err, redlock.ErrNotAcquired, redlock.ErrNoQuorum)
		if errors.Is(err, redlock.ErrHeld) {
			t.Errorf("%s: unreachable is not held: %v", how.name, err)
		}
		if took := time.Since(start); took > d.Request()+d.Request()/2 {
			t.Errorf("%s: the error took %v, the request timeout is %v", how.name, took, d.Request())
		}
		for i := range down {
			how.heal(d.Masters[i])
		}
		// Requests to the hung masters are rolled back, so that the name is free well before the ttl.
		lock := harness.MustLock(t, c, name)
		harness.Must(t, lock.Unlock(context.Background()))
	}
}

func reentry(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Reached()
	outer := harness.MustTry(t, a, "job")
	inner := harness.MustEnter(t, a, outer.Context(), "job")
	innermost := harness.MustEnter(t, a, inner.Context(), "job")
	if inner.Token() != outer.Token() || innermost.Token() != outer.Token() {
		t.Errorf("tokens %v, %v, %v of one hold", outer.Token(), inner.Token(), innermost.Token())
	}
	if _, err := a.TryLock(context.Background(), "job"); !errors.Is(err, redlock.ErrHeld) {
		t.Errorf("another context of the same client got %v", err)
	}
	other := harness.MustEnter(t, a, outer.Context(), "other job")
	nested := harness.MustEnter(t, a, other.Context(), "job")
	harness.Must(t, nested.Unlock(context.Background()))
	harness.Must(t, other.Unlock(context.Background()))

	// Handles may be unlocked in any order: here the outermost first.
	harness.Must(t, outer.Unlock(context.Background()))
	if err := innermost.Context().Err(); err != nil {
		t.Errorf("the hold goes on, but its context ended: %v", err)
	}
	harness.Must(t, innermost.Unlock(context.Background()))
	if _, err := b.TryLock(context.Background(), "job"); !errors.Is(err, redlock.ErrHeld) {
		t.Errorf("one entry is left, but a rival got %v", err)
	}
	if !inner.Valid() || innermost.Valid() {
		t.Error("only the handle that is left is valid")
	}
	harness.Must(t, inner.Unlock(context.Background()))
	harness.Eventually(t, "free everywhere", func() bool { return d.Holders("job") == "00000" })
	if cause := context.Cause(outer.Context()); cause != redlock.ErrReleased {
		t.Errorf("cause %v", cause)
	}
	harness.Must(t, harness.MustTry(t, b, "job").Unlock(context.Background()))
}

// A master that missed the re-entry does not free the lock at the first Unlock. (In other Redlock libraries it does.)
func reentryMissingOnOneMaster(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request()))
	outer := harness.MustTry(t, a, "job")
	harness.Settled(t, a)
	d.Masters[0].Die()
	d.Masters[1].Die()
	inner := harness.MustEnter(t, a, outer.Context(), "job")
	d.Masters[0].Revive()
	d.Masters[1].Revive()
	harness.Eventually(t, "all masters are up", func() bool {
		harness.Must(t, harness.MustTry(t, a, "reaching").Unlock(context.Background()))
		return harness.AllUp(a)
	})
	harness.Must(t, inner.Unlock(context.Background()))
	harness.Settled(t, a)
	if got := d.Holders("job"); got != "11111" {
		t.Errorf("after the inner Unlock held on %s", got)
	}
	if _, err := b.TryLock(context.Background(), "job"); !errors.Is(err, redlock.ErrHeld) {
		t.Fatalf("after the inner Unlock a rival got %v", err)
	}
	harness.Must(t, outer.Unlock(context.Background()))
	harness.Eventually(t, "freed everywhere", func() bool { return d.Holders("job") == "00000" })
}

func reentryNeverShortens(t *testing.T, d *harness.Deployment) {
	c := d.Reached()
	outer := harness.MustTry(t, c, "job", redlock.WithTTL(30*time.Second), redlock.WithoutWatchdog())
	before := outer.Until()
	inner := harness.MustEnter(t, c, outer.Context(), "job", redlock.WithTTL(d.TTL()))
	if after := inner.Until(); after.Before(before.Add(-50 * time.Millisecond)) {
		t.Errorf("a re-entry with a shorter ttl moved the end from %v to %v", before, after)
	}
	harness.Settled(t, c)
	left, err := d.Raw[0].PTTL(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Lock).Result()
	if err != nil || left < 20*time.Second {
		t.Errorf("%v left on the master (%v)", left, err)
	}
	time.Sleep(d.TTL() + 100*time.Millisecond) // longer than the shorter ttl: a client that expected the shorter ttl would report that the masters' clocks had jumped
	harness.Must(t, outer.Extend(context.Background(), 30*time.Second))
	harness.UnlockAll(t, inner, outer)
}

func fixedLeaseExpires(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request()))
	start := time.Now()
	lock := harness.MustTry(t, a, "job", redlock.WithTTL(d.TTL()), redlock.WithoutWatchdog())
	if !lock.Valid() {
		t.Error("not valid at first")
	}
	next := harness.MustLock(t, b, "job")
	if took := time.Since(start); took < d.TTL()-time.Millisecond {
		t.Errorf("a rival got in after %v of %v", took, d.TTL())
	}
	select {
	case <-lock.Context().Done():
	default:
		t.Error("a rival holds, and the old holder's context has not ended")
	}
	if cause := context.Cause(lock.Context()); cause != redlock.ErrExpired || lock.Valid() {
		t.Errorf("cause %v, valid %v", cause, lock.Valid())
	}
	harness.RequireErr(t, lock.Extend(context.Background(), d.TTL()), redlock.ErrExpired)
	harness.RequireErr(t, harness.ErrOf(a.TryLock(context.WithoutCancel(lock.Context()), "job")), redlock.ErrNotAcquired, redlock.ErrExpired)
	harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrExpired)
	if !next.Valid() || d.Holders("job") == "000" {
		t.Error("the late Unlock freed the rival's lock")
	}
	if next.Token() <= lock.Token() {
		t.Errorf("token %v after %v", next.Token(), lock.Token())
	}
	harness.Must(t, next.Unlock(context.Background()))
}

func watchdogRenews(t *testing.T, d *harness.Deployment) {
	events := &harness.Recorder{}
	a := d.Reached(redlock.WithRequestTimeout(d.Request()), redlock.WithObserver(redlock.Observer{
		Renewed: func(context.Context, redlock.Renewal) { events.Note("renewed") },
	}))
	b := d.Reached(redlock.WithRequestTimeout(d.Request()))
	lock := harness.MustTry(t, a, "job", redlock.WithTTL(d.TTL()))
	end := time.Now().Add(3 * d.TTL())
	for time.Now().Before(end) {
		if _, err := b.TryLock(context.Background(), "job"); !errors.Is(err, redlock.ErrNotAcquired) {
			t.Fatalf("a rival got %v", err)
		}
		if err := context.Cause(lock.Context()); err != nil || !lock.Valid() {
			t.Fatalf("ended while it was renewed: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if n := events.Count("renewed"); n < 5 {
		t.Errorf("%d renewals in three ttls", n)
	}
	harness.Must(t, lock.Unlock(context.Background()))
	harness.Eventually(t, "free everywhere", func() bool { return d.Holders("job") == "00000" })
}

func maxHold(t *testing.T, d *harness.Deployment) {
	c := d.Reached(redlock.WithRequestTimeout(d.Request()))
	start := time.Now()
	lock := harness.MustTry(t, c, "job", redlock.WithTTL(d.TTL()), redlock.WithMaxHold(2*d.TTL()))
	harness.Within(t, "the bound ends the hold", lock.Context().Done())
	if took := time.Since(start); took < 2*d.TTL()-20*time.Millisecond || took > 2*d.TTL()+d.TTL()/2 {
		t.Errorf("ended after %v, want %v", took, 2*d.TTL())
	}
	if cause := context.Cause(lock.Context()); cause != redlock.ErrExpired {
		t.Errorf("cause %v", cause)
	}
	next := harness.MustLock(t, c, "job")
	if took := time.Since(start); took > 3*d.TTL()+d.TTL()/2 {
		t.Errorf("free after %v: it was renewed beyond the bound", took)
	}
	harness.Must(t, next.Unlock(context.Background()))
	harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrExpired)
}

func lockDelay(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request()))
	start := time.Now()
	lock := harness.MustTry(t, a, "job", redlock.WithTTL(d.TTL()), redlock.WithLockDelay(d.TTL()), redlock.WithoutWatchdog())
	<-lock.Context().Done()
	noticed := time.Since(start)
	next := harness.MustLock(t, b, "job")
	if free := time.Since(start); noticed > d.TTL()+d.TTL()/3 || free < 2*d.TTL()-time.Millisecond {
		t.Errorf("context ended after %v, free after %v; ttl and delay are %v each", noticed, free, d.TTL())
	}
	harness.Must(t, next.Unlock(context.Background()))
	// An explicit Unlock frees the lock at once.
	harness.Must(t, harness.MustTry(t, a, "job", redlock.WithLockDelay(20*time.Second)).Unlock(context.Background()))
	harness.Must(t, harness.MustTry(t, b, "job").Unlock(context.Background()))
}

func extendLengthens(t *testing.T, d *harness.Deployment) {
	c := d.Reached(redlock.WithRequestTimeout(d.Request()))
	lock := harness.MustTry(t, c, "job", redlock.WithTTL(d.TTL()), redlock.WithoutWatchdog())
	harness.Must(t, lock.Extend(context.Background(), 20*time.Second))
	if left := time.Until(lock.Until()); left < 19*time.Second {
		t.Errorf("%v left after Extend by 20 s", left)
	}
	harness.Must(t, lock.Extend(context.Background(), d.TTL()))
	if left := time.Until(lock.Until()); left < 18*time.Second {
		t.Errorf("Extend by less shortened the lease to %v", left)
	}
	harness.Settled(t, c)
	if left, err := d.Raw[0].PTTL(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Lock).Result(); err != nil || left < 18*time.Second {
		t.Errorf("%v left on the master (%v): a late, older extend would have cut the lease", left, err)
	}
	harness.RequireOptionError(t, lock.Extend(context.Background(), time.Hour), "ttl")
	harness.RequireOptionError(t, lock.Extend(context.Background(), 0), "ttl")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	harness.RequireErr(t, lock.Extend(cancelled, d.TTL()), context.Canceled)
	harness.Must(t, lock.Unlock(context.Background()))
	harness.RequireErr(t, lock.Extend(context.Background(), d.TTL()), redlock.ErrReleased)
}

func lostOnMajority(t *testing.T, d *harness.Deployment) {
	c := d.Reached(redlock.WithRequestTimeout(d.Request()))
	lock := harness.MustTry(t, c, "job", redlock.WithTTL(d.TTL()))
	until := lock.Until()
	d.Drop(c, "job", 0, 1, 2)
	harness.Within(t, "the holder is told", lock.Context().Done())
	if cause := context.Cause(lock.Context()); cause != redlock.ErrLost || lock.Valid() {
		t.Errorf("cause %v, valid %v", cause, lock.Valid())
	}
	if time.Now().After(until) {
		t.Error("the context ended at the deadline only, not with a quorum of refusals")
	}
	if got := d.Holders("job"); strings.HasPrefix(got, "1") {
		t.Errorf("the renewal restored the lost lock: %s", got)
	}
	harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrLost)
	harness.Eventually(t, "what was left is released", func() bool { return d.Holders("job") == "00000" })

	fixed := harness.MustTry(t, c, "job", redlock.WithoutWatchdog())
	d.Drop(c, "job", 0, 1, 2)
	harness.RequireErr(t, fixed.Extend(context.Background(), d.TTL()), redlock.ErrLost)
	harness.RequireErr(t, fixed.Unlock(context.Background()), redlock.ErrLost)

	gone := harness.MustTry(t, c, "job", redlock.WithoutWatchdog())
	d.Drop(c, "job", 0, 1, 2)
	harness.RequireErr(t, gone.Unlock(context.Background()), redlock.ErrLost)

	second := harness.MustTry(t, c, "job", redlock.WithoutWatchdog())
	d.Drop(c, "job", 0, 1, 2)
	harness.RequireErr(t, harness.ErrOf(c.TryLock(second.Context(), "job")), redlock.ErrNotAcquired, redlock.ErrLost)
	if got := d.Holders("job"); !strings.HasPrefix(got, "000") {
		t.Errorf("the re-entry restored the lost lock: %s", got)
	}
	harness.RequireErr(t, second.Unlock(context.Background()), redlock.ErrLost)
}

func lostOnMinority(t *testing.T, d *harness.Deployment) {
	c := d.Reached(redlock.WithRequestTimeout(d.Request()))
	lock := harness.MustTry(t, c, "job", redlock.WithTTL(d.TTL()))
	d.Drop(c, "job", 0, 1)
	select {
	case <-lock.Context().Done():
		t.Errorf("a quorum still grants, but the hold ended: %v", context.Cause(lock.Context()))
	case <-time.After(2 * d.TTL()):
	}
	harness.Must(t, lock.Unlock(context.Background()))
}

// A lock without a ttl is held until its owner's lease must have ended, even if its rivals' leases are shorter, because
// the owner may renew the lock.
func lockWithoutTTL(t *testing.T, d *harness.Deployment) {
	lockWithWrongTTL(t, d, func(r *redis.Client, lock string) error { return r.Persist(context.Background(), lock).Err() })
}

// A lock that was written while the masters' clocks were ahead is held for as long as a lock without a ttl.
func lockFromTheFuture(t *testing.T, d *harness.Deployment) {
	lockWithWrongTTL(t, d, func(r *redis.Client, lock string) error {
		return r.PExpire(context.Background(), lock, time.Hour).Err()
	})
}

func lockWithWrongTTL(t *testing.T, d *harness.Deployment, spoil func(r *redis.Client, lock string) error) {
	longest := 4 * d.TTL()
	settings := []redlock.Option{redlock.WithRequestTimeout(d.Request()), redlock.WithMaxTTL(longest), redlock.WithTTL(d.TTL())}
	owner, rival := d.Client(settings...), d.Client(settings...)
	harness.MustTry(t, owner, "abandoned", redlock.WithoutWatchdog())
	kept := harness.MustTry(t, owner, "job", redlock.WithTTL(longest))
	harness.Settled(t, owner) // otherwise a late request would set the ttl again after the test has removed it
	for _, name := range []string{"abandoned", "job"} {
		for _, r := range d.Raw {
			harness.Must(t, spoil(r, script.KeysOf(limits.DefaultPrefix, name, "").Lock))
		}
		_, err := rival.TryLock(context.Background(), name)
		harness.RequireErr(t, err, redlock.ErrNotAcquired, redlock.ErrHeld)
		if q, ok := errors.AsType[*redlock.QuorumError](err); !ok || q.FreeIn <= longest-d.Request() || q.FreeIn > longest {
			t.Errorf("%v; want free in %v", err, longest)
		}
	}
	_, err := rival.Lock(context.Background(), "job", redlock.WithWait(longest/2)) // the first renewal is after a third of the ttl
	harness.RequireErr(t, err, redlock.ErrHeld)
	if !kept.Valid() {
		t.Errorf("a holder that renews is %v", context.Cause(kept.Context()))
	}
	harness.Must(t, kept.Unlock(context.Background()))
	next := harness.MustLock(t, rival, "abandoned", redlock.WithWait(2*longest))
	harness.Must(t, next.Unlock(context.Background()))
}

func unlockTwice(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Reached()
	lock := harness.MustTry(t, a, "job")
	harness.Must(t, lock.Unlock(context.Background()))
	next := harness.MustTry(t, b, "job")
	harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrReleased)
	if strings.Count(d.Holders("job"), "1") < 2 {
		t.Error("a stale Unlock freed a newer lock")
	}
	if lock.Valid() || context.Cause(lock.Context()) != redlock.ErrReleased {
		t.Errorf("valid %v, cause %v after Unlock", lock.Valid(), context.Cause(lock.Context()))
	}
	harness.Must(t, next.Unlock(context.Background()))
}

func lockWaits(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Reached()
	lock := harness.MustTry(t, a, "job")
	got := harness.GoLock(t, b, "job")
	select {
	case <-got:
		t.Error("two holders")
	case <-time.After(100 * time.Millisecond):
	}
	harness.Must(t, lock.Unlock(context.Background()))
	start := time.Now()
	next := harness.Have(t, got)
	if took := time.Since(start); took > d.Either(2*waitqueue.MaxPause, acquire.AskInterval) {
		t.Errorf("free for %v before the waiter had it", took)
	}
	harness.Must(t, next.Unlock(context.Background()))
}

func lockWaitTimeout(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Reached()
	held := harness.MustTry(t, a, "job")
	stop := errors.New("the user pressed stop")
	for _, c := range []*redlock.Client{a, b} {
		ctx, cancel := context.WithCancelCause(context.Background())
		gaveUp := make(chan error, 1)
		go func() {
			_, err := c.Lock(ctx, "job")
			gaveUp <- err
		}()
		if c == a {
			harness.Eventually(t, "it waits for the holder", func() bool { return harness.Waiting(c, "job") == 1 })
		} else {
			d.TicketOf(c, "job")
			harness.Settled(t, c)
		}
		cancel(stop)
		harness.RequireErr(t, <-gaveUp, stop, redlock.ErrNotAcquired, redlock.ErrHeld)

		_, err := c.Lock(context.Background(), "job", redlock.WithWait(d.Either(50*time.Millisecond, time.Second)))
		harness.RequireErr(t, err, context.DeadlineExceeded, redlock.ErrNotAcquired, redlock.ErrHeld)
	}
	dead, cancel := context.WithCancelCause(context.Background())
	cancel(stop)
	harness.RequireErr(t, harness.ErrOf(b.Lock(dead, "job")), stop)
	harness.RequireErr(t, harness.ErrOf(b.TryLock(dead, "job")), stop)
	harness.Must(t, held.Unlock(context.Background()))
	short, cancelShort := context.WithTimeout(context.Background(), harness.Patience)
	defer cancelShort()
	lock, err := b.Lock(short, "job", redlock.WithWait(harness.Patience/2))
	harness.Must(t, err)
	harness.Must(t, lock.Unlock(context.Background()))
}

func doUnlocks(t *testing.T, d *harness.Deployment) {
	c := d.Reached(redlock.WithRequestTimeout(d.Request()))
	wrong := errors.New("work failed")
	var saw context.Context
	err := c.Do(context.Background(), "job", func(ctx context.Context, token fence.Token) error {
		saw = ctx
		if !token.Valid() || strings.Count(d.Holders("job"), "1") < 2 {
			t.Errorf("token %v, held on %s", token, d.Holders("job"))
		}
		return wrong
	})
	if !errors.Is(err, wrong) || context.Cause(saw) != redlock.ErrReleased {
		t.Errorf("error %v, cause %v", err, context.Cause(saw))
	}
	harness.Eventually(t, "free everywhere", func() bool { return d.Holders("job") == "000" })
	func() {
		defer func() {
			if recover() != "panicked" {
				t.Error("the panic was swallowed")
			}
		}()
		_ = c.Do(context.Background(), "job", func(context.Context, fence.Token) error { panic("panicked") })
	}()
	harness.Eventually(t, "free after a panic", func() bool { return d.Holders("job") == "000" })
	var together, all sync.WaitGroup
	together.Add(3)
	for range 3 {
		all.Go(func() {
			harness.Check(t, c.DoRead(context.Background(), "job", func(context.Context) error {
				together.Done()
				together.Wait() // all callers hold the lock at once
				return nil
			}))
		})
	}
	all.Wait()
	// The work ends with the hold. Even if the work returns nil, Do returns the loss.
	err = c.Do(context.Background(), "job", func(ctx context.Context, _ fence.Token) error {
		d.Drop(c, "job", 0, 1)
		<-ctx.Done()
		return nil
	}, redlock.WithTTL(d.TTL()))
	harness.RequireErr(t, err, redlock.ErrLost)
}

func deadContextDoesNotStopUnlock(t *testing.T, d *harness.Deployment) {
	c := d.Reached()
	ctx, cancel := context.WithCancel(context.Background())
	lock := harness.MustEnter(t, c, ctx, "job")
	cancel()
	if lock.Context().Err() == nil {
		t.Error("the hold's context is not derived from the caller's")
	}
	if !lock.Valid() {
		t.Error("the end of the caller's context does not end the hold")
	}
	harness.Must(t, lock.Unlock(ctx))
	harness.Eventually(t, "free everywhere", func() bool { return d.Holders("job") == "000" })
}

func cancelledAttemptLeavesNothing(t *testing.T, d *harness.Deployment) {
	c := d.Reached(redlock.WithRequestTimeout(d.Request() * 3))
	for i := range 3 {
		d.Masters[i].Freeze()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancelled := make(chan error, 1)
	go func() {
		_, err := c.TryLock(ctx, "job")
		cancelled <- err
	}()
	harness.Eventually(t, "granted by the others", func() bool {
		return d.Raw[3].Exists(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Lock).Val() == 1
	})
	cancel()
	harness.RequireErr(t, <-cancelled, context.Canceled)
	for i := range 3 {
		d.Masters[i].Thaw()
	}
	harness.GivenBack(t, d, "job", "00000", limits.DefaultTTL/2)
}

func closeReleases(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Reached()
	lock := harness.MustTry(t, a, "job")
	harness.MustTryRead(t, a, "read")
	waiting := make(chan error)
	go func() {
		_, err := a.Lock(context.Background(), "job")
		waiting <- err
	}()
	harness.Eventually(t, "in line", func() bool { return harness.Waiting(a, "job") == 1 })
	harness.Must(t, a.Close())
	harness.RequireErr(t, <-waiting, redlock.ErrClosed)
	if cause := context.Cause(lock.Context()); cause != redlock.ErrClosed || lock.Valid() {
		t.Errorf("cause %v, valid %v", cause, lock.Valid())
	}
	harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrClosed)
	harness.RequireErr(t, a.Close(), redlock.ErrClosed)
	harness.RequireErr(t, harness.ErrOf(a.TryLock(context.Background(), "job")), redlock.ErrClosed)
	harness.UnlockAll(t, harness.MustTry(t, b, "job"), harness.MustTry(t, b, "read"))
}

func oneHandleManyGoroutines(t *testing.T, d *harness.Deployment) {
	c := d.Reached()
	lock := harness.MustTry(t, c, "job")
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
			if err := lock.Extend(context.Background(), 10*time.Second); err != nil {
				t.Error(err)
			}
			if err := inner.Unlock(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var unlocked atomic.Int64
	for range 100 {
		all.Go(func() {
			switch err := lock.Unlock(context.Background()); {
			case err == nil:
				unlocked.Add(1)
			case !errors.Is(err, redlock.ErrReleased):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if entered.Load() != 100 || unlocked.Load() != 1 {
		t.Errorf("%d entered, %d unlocked", entered.Load(), unlocked.Load())
	}
	harness.Eventually(t, "free everywhere", func() bool { return d.Holders("job") == "000" })
}

// A suspension stops Go's timers, but not the masters' leases.
func suspendedHolder(t *testing.T, d *harness.Deployment) {
	if !d.Virtual {
		t.Log("a machine cannot be suspended here: shown in virtual time only, and by SIGSTOP in the demo's test")
		return
	}
	c := d.Reached()
	lock := harness.MustTry(t, c, "job", redlock.WithTTL(10*time.Second))
	outer := harness.MustTry(t, c, "other", redlock.WithTTL(10*time.Second))
	inner := harness.MustEnter(t, c, outer.Context(), "other")
	d.Slept.Add(int64(time.Minute))
	if lock.Valid() {
		t.Error("valid after a minute's sleep with a lease of 10 s")
	}
	harness.RequireErr(t, inner.Unlock(context.Background()), redlock.ErrExpired)
	harness.RequireErr(t, outer.Unlock(context.Background()), redlock.ErrExpired)
	start := time.Now()
	<-lock.Context().Done()
	if took := time.Since(start); took > lease.SuspendInterval {
		t.Errorf("the context ended %v after the resume", took)
	}
	harness.RequireErr(t, context.Cause(lock.Context()), redlock.ErrExpired)
	harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrExpired)
}
