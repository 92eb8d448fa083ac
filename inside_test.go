package redlock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/masterurl"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

func TestTheNameOfAProgramIsShort(t *testing.T) {
	t.Parallel()
	_, err := New(nil, WithName(strings.Repeat("x", maxProgramName+1)))
	requireErr(t, err, ErrBadOption)
	if !strings.Contains(err.Error(), "client's name of 257 bytes") {
		t.Error(err)
	}
}

// What must arrive is tried for as long as it is of use, and not for as long as
// the master is gone.
func TestWhatADeadMasterWasToBeToldEnds(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		c := d.reached()
		d.masters[0].die()
		dead := c.masters[0]
		leave := c.leaveRequest("job", &c.channel)
		leave.Until = c.now().Add(script.QueueTTL)
		wanted := c.leaveRequest("wanted", &c.channel)
		wanted.Until, wanted.Policy = leave.Until, obsoleteIf(func(int) bool { return true })
		dead.Submit(leave)
		eventually(t, "kept", func() bool { return dead.Pending() == 1 })
		dead.Submit(wanted)
		time.Sleep(script.QueueTTL / 2)
		synctest.Wait()
		if n := dead.Pending(); n != 1 {
			t.Errorf("%d requests are kept, want the one that is of use", n)
		}
		time.Sleep(script.QueueTTL)
		synctest.Wait()
		if n := dead.Pending(); n != 0 {
			t.Errorf("%d requests are kept for ever", n)
		}
	})
}

// Only masters that vote call anybody who waits: whose subscriptions stand beside theirs is not counted, and those of
// the members are enough.
func TestCallsOfMastersWithoutAVote(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		whole, raw := d.masters, d.raw
		d.masters, d.raw = whole[:3], raw[:3]
		operator := d.reached()
		d.masters, d.raw = whole, raw
		held := []*Lock{mustTry(t, operator, "job"), mustTry(t, operator, "other")}
		c := d.stranger() // two of its five masters are no members
		goLock(t, c, "job")
		reaches := func(want bool, when string) {
			t.Helper()
			time.Sleep(time.Second) // until subscriptions stand, or are known to be broken
			synctest.Wait()
			if got := c.notices.Reach().Quorum; got != want {
				t.Errorf("%s: a quorum can call: %v", when, got)
			}
		}
		reaches(true, "all members vote")
		d.masters[0].die()
		reaches(true, "one of three is dead")
		goLock(t, c, "other")
		synctest.Wait()
		if !c.tickets.Next(c.now()).Known() {
			t.Error("the times of two of three members are not enough for a ticket")
		}
		d.masters[0].revive()
		reaches(true, "it is back")
		must(t, operator.changeMembers(background, suspendMember(d.address(2)), nil))
		reaches(true, "two vote, and one is suspended")
		d.masters[1].die()
		reaches(false, "one votes, one is suspended, and one is dead")
		if got := c.notices.Quorum(); got != 1 {
			t.Errorf("a waiter asks when %d masters call, and one can", got)
		}
		d.masters[1].revive()
		reaches(true, "two vote again")
		unlockAll(t, held...)
	})
}

// A call that some masters refused because they had not learned the version asks them again soon.
// It does not wait until all is settled among the members, with a master that hangs, say.
func TestWhoHadNotLearnedTheVersionIsAskedAgain(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		v := c.members.View()
		outdated := &QuorumError{Reason: ErrNoQuorum, Votes: []Vote{{Err: script.ErrVersion}}}
		ended, cancel := context.WithCancel(background)
		cancel()
		if c.members.Settled(background, v, time.Second) == nil {
			t.Fatal("the members are not settled")
		}
		if c.newerView(background, outdated, v, c.now().Add(time.Second)) == nil {
			t.Error("it is not asked again, though all is settled")
		}
		d.masters[2].freeze()
		for _, x := range []struct {
			claim string
			ctx   context.Context
			left  time.Duration
			again bool
			after time.Duration
		}{
			{"there is time", background, time.Second, true, learnPatience},
			{"its time is over before", background, learnPatience - 1, false, learnPatience - 1},
			{"there is no time", background, 0, false, 0},
			{"its context has ended", ended, time.Second, false, 0},
		} {
			c.members.Kick() // it looks at the master that hangs, for longer than learnPatience
			began := time.Now()
			now := c.newerView(x.ctx, outdated, v, c.now().Add(x.left))
			if took := time.Since(began); (now != nil) != x.again || took != x.after {
				t.Errorf("%s: asked again: %v, after %v; want %v, %v", x.claim, now != nil, took, x.again, x.after)
			}
		}
		d.masters[2].thaw()
	})
}

// Those who miss nothing ask in the last quarter of their interval, and many at once.
func TestCoveredPause(t *testing.T) {
	t.Parallel()
	const now = clock.Instant(12345678987654321)
	for _, random := range []float64{0, .1, .5, .999999} {
		pause := coveredPause(now, random)
		if pause <= (coveredInterval-askTogether)*3/4 || pause > coveredInterval || time.Duration(now.Add(pause))%askTogether != 0 {
			t.Errorf("random %v: pauses for %v, until %v", random, pause, now.Add(pause))
		}
	}
}

// notAdmittedFault is such an error, as package membership makes them.
type notAdmittedFault struct{}

func (notAdmittedFault) Error() string { return "it is none of the members" }

func (notAdmittedFault) Is(target error) bool {
	return target == ErrNotMember || target == membership.ErrNotAdmitted
}

func TestLasting(t *testing.T) {
	t.Parallel()
	var (
		noAuth    = fmt.Errorf("failed to connect: %w", replied("NOAUTH Authentication required."))
		wrongPass = replied("WRONGPASS invalid username-password pair or user is disabled.")
		noPerm    = replied("NOPERM this user has no permissions to run the 'evalsha' command")
		stranger  = notAdmittedFault{}
		isNew     = fmt.Errorf("%w: it is new, and does not vote yet", ErrNotMember)
		distrust  = &masterurl.TLSError{}
		down      = errors.New("connection refused")
		oom       = replied("OOM command not allowed when used memory > 'maxmemory'.")
		noDB      = replied("ERR DB index is out of range")
		busy      = replied("BUSY Redis is busy running a script.")
		text      = errors.New("NOAUTH, says something that is no server")
	)
	for _, c := range []struct {
		what   string
		reason error
		need   int
		votes  []error // nil: granted
		want   bool
	}{
		{"all refuse the password", ErrNoQuorum, 2, []error{noAuth, noAuth, noAuth}, true},
		{"none has the database", ErrNoQuorum, 2, []error{noDB, noDB, noDB}, true},
		{"a quorum does", ErrNoQuorum, 2, []error{nil, wrongPass, wrongPass}, true},
		{"a minority does", ErrNoQuorum, 2, []error{nil, down, wrongPass}, false},
		{"each for another reason", ErrNoQuorum, 3, []error{noAuth, noPerm, stranger, down, nil}, true},
		{"the others are just enough", ErrNoQuorum, 3, []error{noAuth, noPerm, isNew, down, nil}, false},
		{"no trust", ErrNoQuorum, 2, []error{distrust, distrust, nil}, true},
		{"none is admitted", ErrNoQuorum, 2, []error{stranger, stranger, stranger}, true},
		{"too few of the members are given", ErrNoQuorum, 3, []error{nil, nil}, true},
		{"new members", ErrNoQuorum, 2, []error{isNew, isNew, isNew}, false},
		{"all are down", ErrNoQuorum, 2, []error{down, down, down}, false},
		{"out of memory", ErrNoQuorum, 2, []error{oom, oom, oom}, false},
		{"busy", ErrNoQuorum, 2, []error{busy, busy, busy}, false},
		{"not heard in time", ErrNoQuorum, 2, []error{quorum.ErrNoAnswer, quorum.ErrNotAwaited, wrongPass}, false},
		{"another version", ErrNoQuorum, 2, []error{script.ErrVersion, script.ErrVersion, nil}, false},
		{"a text that is no reply", ErrNoQuorum, 2, []error{text, text, text}, false},
		{"it is held", ErrHeld, 2, []error{noAuth, noAuth, nil}, false},
		{"too slow", ErrTooSlow, 2, []error{nil, nil, nil}, false},
	} {
		q := &QuorumError{Op: opAcquire, Reason: c.reason, Need: c.need}
		for _, err := range c.votes {
			q.Votes = append(q.Votes, Vote{Err: printable.Error(err)})
		}
		if got := lasting(errors.Join(ErrNotAcquired, q)); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
		if !lasting(errors.Join(q, ErrNeedsInit)) {
			t.Errorf("%s, and it needs init: not lasting", c.what)
		}
	}
	for _, err := range []error{ErrNotAcquired, ErrHeld, ErrClosed, context.Canceled} {
		if lasting(err) {
			t.Errorf("%v is lasting", err)
		}
	}
}

// Trap 16: why a lock was not had, as errors.Is and errors.As tell it.
func TestErrors(t *testing.T) {
	t.Parallel()
	c := &Client{config: defaultConfig()}
	for i := range 5 {
		c.masters = append(c.masters, &master.Master{Config: master.Config{Name: string(rune('a' + i))}})
	}
	all := []error{ErrNotAcquired, ErrHeld, ErrNoQuorum, ErrTooSlow, ErrNotMember, ErrLost, ErrExpired, ErrReleased, ErrClosed, ErrBadOption, ErrNeedsInit}
	for _, x := range []struct {
		claim string
		err   error
		is    []error
		says  []string
	}{
		{"held by one", c.notGranted(testvotes.ViewOfAll(5), opAcquire, "job", testvotes.Of("hhh..")), []error{ErrNotAcquired, ErrHeld}, []string{`"job"`, "lease ends in 1s unless renewed or released", "need 3 of 5", "a held, lease ends in 1s"}},
		{"split", c.notGranted(testvotes.ViewOfAll(5), opAcquire, "job", testvotes.Of("gghhh")), []error{ErrNotAcquired, ErrHeld}, []string{"held"}},
		{"unreachable", c.notGranted(testvotes.ViewOfAll(5), opAcquire, "job", testvotes.Of("uuugg")), []error{ErrNotAcquired, ErrNoQuorum}, []string{"a unknown: no answer"}},
		{"refused", c.notGranted(testvotes.ViewOfAll(5), opAcquire, "job", testvotes.Of("rrrgg")), []error{ErrNotAcquired, ErrNoQuorum, ErrNotMember}, []string{"a refused"}},
		{"a re-entry of what is another's", c.notGranted(testvotes.ViewOfAll(5), opReenter, "job", testvotes.Of("nnn..")), []error{ErrNotAcquired, ErrLost}, []string{"lost"}},
		{"an extension unheard", c.notGranted(testvotes.ViewOfAll(5), opExtend, "job", testvotes.Of("guuuu")), []error{ErrNoQuorum}, []string{"extend"}},
		{"an extension of what is another's", c.notGranted(testvotes.ViewOfAll(5), opExtend, "job", testvotes.Of("nnngg")), []error{ErrLost}, nil},
		{"a wait that ended", printable.Because(context.DeadlineExceeded, c.notGranted(testvotes.ViewOfAll(5), opAcquire, "job", testvotes.Of("hhhhh"))), []error{ErrNotAcquired, ErrHeld, context.DeadlineExceeded}, nil},
		{"bad input", &OptionError{"ttl", -1, "must be positive"}, []error{ErrBadOption}, []string{"ttl", "-1", "positive"}},
		{"a majority lost", fmt.Errorf("%w (%w)", ErrNeedsInit, ErrNotMember), []error{ErrNeedsInit, ErrNotMember}, []string{"redlock help init"}},
	} {
		for _, e := range x.is {
			if !errors.Is(x.err, e) {
				t.Errorf("%s: %v is not %v", x.claim, x.err, e)
			}
		}
		for _, e := range all {
			if errors.Is(x.err, e) && !contains(x.is, e) {
				t.Errorf("%s: %v is %v as well", x.claim, x.err, e)
			}
		}
		for _, word := range x.says {
			if !strings.Contains(x.err.Error(), word) {
				t.Errorf("%s: %q does not say %q", x.claim, x.err, word)
			}
		}
	}
	q, ok := errors.AsType[*QuorumError](printable.Because(context.Canceled, c.notGranted(testvotes.ViewOfAll(5), opAcquire, "job", testvotes.Of("ghru."))))
	if !ok || q.Need != 3 || len(q.Votes) != 5 {
		t.Fatalf("no facts: %+v", q)
	}
	for i, want := range []Answer{Granted, Held, Refused, Unknown, Unknown} {
		if q.Votes[i].Answer != want {
			t.Errorf("vote %d is %v, want %v", i, q.Votes[i].Answer, want)
		}
	}
}

func contains(errs []error, e error) bool {
	for _, x := range errs {
		if x == e {
			return true
		}
	}
	return false
}

// An error says of a master what is so: a time only if it is known, and that it did
// not answer only if it was waited for.
func TestVotesSayWhatIsSo(t *testing.T) {
	c := &Client{config: defaultConfig()}
	for i := range 5 {
		c.masters = append(c.masters, &master.Master{Config: master.Config{Name: string(rune('a' + i))}})
	}
	held := script.Vote{Heard: true, Answer: script.Held, Remaining: time.Second}
	notKnown := script.Vote{Heard: true, Answer: script.Held, Ticket: 1e15}
	for _, x := range []struct {
		claim     string
		votes     []script.Vote
		says, not []string
	}{
		{"decided", []script.Vote{held, held, notKnown}, []string{"a held, lease ends in 1s;", "c held;", "d unknown: not needed: quorum already decided"}, []string{"no answer", "0s"}},
		{"the time was up", []script.Vote{held, held}, []string{"c unknown: no answer yet", "e unknown: no answer yet"}, []string{"not needed"}},
	} {
		r := quorum.NewRound(testvotes.ViewOfAll(5))
		for i, v := range x.votes {
			r.Answer(i, v)
		}
		text := c.notGranted(testvotes.ViewOfAll(5), opAcquire, "job", r.Tally()).Error()
		for _, word := range x.says {
			if !strings.Contains(text, word) {
				t.Errorf("%s: %q does not say %q", x.claim, text, word)
			}
		}
		for _, word := range x.not {
			if strings.Contains(text, word) {
				t.Errorf("%s: %q says %q", x.claim, text, word)
			}
		}
	}
}

// A master's clock may be fast by the drift: the key is there for as long as we count.
func TestLingerTTL(t *testing.T) {
	t.Parallel()
	for _, maxTTL := range []time.Duration{limits.MinTTL, time.Minute, 12345678 * time.Microsecond, maxDuration} {
		for _, drift := range []float64{0, 0.01, 0.5, 0.9} {
			most := maxTTL.Truncate(time.Millisecond)
			for atLeastFits(most, maxTTL, drift) != nil {
				most = most / 1000 * 999
			}
			if most > 0 && (quorum.LingerTTL(most, drift) > maxTTL || quorum.LingerTTL(most, drift) < maxTTL*9/10-30*time.Millisecond) {
				t.Errorf("max ttl %v, drift %v: %v fits, and the key lives for %v", maxTTL, drift, most, quorum.LingerTTL(most, drift))
			}
		}
	}
	for _, drift := range []float64{0, 0.01, 0.5, 0.99} {
		for _, left := range []time.Duration{1, time.Millisecond, 20 * time.Millisecond, 1234567 * time.Microsecond, time.Hour} {
			ttl := quorum.LingerTTL(left, drift)
			if atLeast := ttl - quorum.TermsOf(ttl, 0, drift).Drift; atLeast < left-1 || atLeast > left+time.Millisecond || ttl%time.Millisecond != 0 {
				t.Errorf("drift %v: %v for %v lasts %v", drift, ttl, left, atLeast)
			}
		}
	}
}

func TestALockPrintsItsNameAndToken(t *testing.T) {
	l := &Lock{h: &lease.Hold{Name: "job", Owner: lease.Owner{ID: "secret", Token: 17}}}
	for _, format := range []string{"%v", "%+v", "%s"} {
		if got, want := fmt.Sprintf(format, l), `lock "job", token 17`; got != want {
			t.Errorf("%s: %s, want %s", format, got, want)
		}
	}
}

// The timers of the names of a set fire at the same time. All are renewed at the first, and nothing at the others; what could not
// be renewed is tried again a twelfth of the ttl later, and then this counts for that renewal.
func TestTheNamesOfASetAreRenewedTogether(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		const ttl = 24 * time.Second
		var renewed recorder
		c := d.reached(WithTTL(ttl), WithObserver(Observer{Renewed: func(_ context.Context, r Renewal) { renewed.note("%s", r.Name) }}))
		locks := mustAll(t, c, three)
		settled(t, c)
		began := c.now().Add(ttl / 10)
		for _, x := range []struct {
			after time.Duration
			want  int // of each name, so far
		}{
			{0, 1}, {0, 1}, {1, 1}, {ttl/24 - 1, 1}, {ttl / 24, 2}, {ttl / 24, 2}, {ttl/12 - 1, 2}, {ttl / 12, 3},
		} {
			set{locks}.Renew(began.Add(x.after), ttl/(2*lease.RenewRetries))
			settled(t, c)
			synctest.Wait()
			for _, name := range three {
				if got := renewed.count(name); got != x.want {
					t.Errorf("%v after the first: %s was renewed %d times, want %d", x.after, name, got, x.want)
				}
			}
		}
		must(t, locks.Unlock(background))
	})
}

// Leases that end together are over in goroutines of their own. The last of them may come to
// end the context before the first, and says why the first one did.
func TestASetThatExpiresAtOnceSaysSo(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		s := &Locks{client: d.client(), live: 2, complete: true}
		var causes []error
		s.cancel = func(cause error) {
			if len(causes) == 0 {
				causes = append(causes, nil) // the first, which is not through
				set{s}.Ended(ErrExpired)
				causes[0] = cause
				return
			}
			causes = append(causes, cause)
		}
		set{s}.Ended(ErrExpired)
		if want := []error{ErrExpired, ErrExpired}; !slices.Equal(causes, want) {
			t.Errorf("the context ended with %v, want %v", causes, want)
		}
	})
}

// A set has its names when a quorum of masters stands at the token of each. If it does not for one, whichever that is, the
// attempt fails and tells which.
func TestASetNeedsEachToken(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	for _, x := range []struct {
		lost string // on two of three masters, before they are to confirm
		want string // the name that is told; "": it is had
	}{
		{"", ""}, {"a", "a"}, {"b", "b"}, {"c", "c"}, {"ab", "a"}, {"bc", "b"}, {"abc", "a"},
	} {
		t.Run("lost "+x.lost, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
				c := d.reached()
				for i, name := range names { // all differ, so that each name has two masters that confirm
					for m := range d.raw {
						must(t, d.raw[m].IncrBy(background, script.KeysOf(limits.DefaultPrefix, name, "").Fence, int64(100*(m+i))).Err())
					}
				}
				s := c.newLocks(background, names, c.config.lock, waitqueue.Ticket{})
				deadline := c.now().Add(c.requestTimeout)
				attempts := c.askForAll(s, c.members.View(), names, deadline)
				settled(t, c)
				votes := make([][]script.Vote, len(attempts))
				for i, a := range attempts {
					votes[i] = a.asked.Tally()
				}
				for _, name := range strings.Split(x.lost, "") {
					for _, r := range d.raw[:2] {
						must(t, r.Del(background, script.KeysOf(limits.DefaultPrefix, name, "").Lock).Err())
					}
				}
				err := c.makeTokens(background, attempts, votes)
				q, _ := errors.AsType[*QuorumError](err)
				switch {
				case x.want == "":
					must(t, err)
				case q == nil || q.Reason != ErrNoQuorum || q.Name != x.want:
					t.Errorf("%v, want that %s has no quorum", err, x.want)
				}
				for _, a := range attempts {
					a.giveUp(nowhere)
				}
				settled(t, c)
			})
		})
	}
}

// The answers to all names of an attempt come together, and one after the other. What is told of a name is told when all that came
// together is there, or the time is over.
func TestAnAttemptAtAllNamesIsToldWhole(t *testing.T) {
	t.Parallel()
	const least = 500 * time.Millisecond
	for claim, x := range map[string]struct {
		comes  bool // the last answer for the second name
		answer script.Answer
		within time.Duration
	}{
		"the last answer comes":         {true, script.Held, 0},
		"the last answer does not come": {false, script.Unknown, least},
	} {
		inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
			c := d.reached()
			v := c.members.View()
			var attempts []*attempt
			for _, name := range []string{"a", "b"} {
				attempts = append(attempts, c.prepare(v, name, c.config.lock, nowhere))
			}
			withheld := script.Vote{Heard: true, Answer: script.Held, Err: script.ErrWithheld}
			held := script.Vote{Heard: true, Answer: script.Held}
			begin := time.Now()
			go func() {
				for i := range 3 {
					attempts[0].asked.Answer(i, withheld)
					if i == 2 {
						synctest.Wait() // who waits for the first name has its verdict
					}
					if i < 2 || x.comes {
						attempts[1].asked.Answer(i, held)
					}
				}
			}()
			votes, failed, err := c.awaitAll(background, attempts, c.now().Add(least))
			must(t, err)
			if failed != 0 || votes[1][2].Answer != x.answer {
				t.Errorf("%s: %d failed, and the third answer for the second name is %v, want %v", claim, failed, votes[1][2].Answer, x.answer)
			}
			if took := time.Since(begin); took != x.within {
				t.Errorf("%s: it took %v, want %v", claim, took, x.within)
			}
		})
	}
}

// A call of which nothing is to be told keeps nothing for it.
func TestObserverThatWantsNoCalls(t *testing.T) {
	t.Parallel()
	o := reflect.TypeFor[Observer]()
	for f := range o.NumField() {
		var one Observer
		field := reflect.ValueOf(&one).Elem().Field(f)
		field.Set(reflect.MakeFunc(field.Type(), nil))
		inCall := field.Type().In(0).Kind() == reflect.Interface && o.Field(f).Name != "Unlocked" // which has a context of its own
		if one.wantsCalls() != inCall {
			t.Errorf("%s: wants calls: %v", o.Field(f).Name, one.wantsCalls())
		}
	}
}

// Who wants one thing to be told is told that, and nothing else is asked of it.
func TestObserverOfOneThing(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"AttemptFailed": 2, "Finished": 1, "Acquired": 1, "Renewed": 1, "RenewalFailed": 1, "Ended": 1, "ClockJumped": 1, "MasterCalled": 1,
		"MasterDown": 1, "MasterUp": 1, "NotAMember": 1, "VersionLearned": 1, "MemberChanged": 1,
	}
	o := reflect.TypeFor[Observer]()
	for f := range o.NumField() {
		name := o.Field(f).Name
		if name == "Started" || name == "Unlocked" {
			continue // only who has them is asked at all
		}
		told := 0
		c := &Client{config: defaultConfig(), masters: []*master.Master{{}}}
		c.now = func() clock.Instant { return 1 }
		field := reflect.ValueOf(&c.observer).Elem().Field(f)
		field.Set(reflect.MakeFunc(field.Type(), func([]reflect.Value) []reflect.Value {
			told++
			return nil
		}))
		tells := &telling{client: c, ctx: background}
		c.holds = lease.NewHolds(lease.Client{Now: c.now, Masters: c.masters})
		h := c.holds.New(testvotes.ViewOfAll(1), "job", "owner", c.config.lock.hold(0))
		votes := []script.Vote{{Heard: true, Answer: script.Granted, Sent: 1, Got: 1}}
		h.Count(votes, votes)
		tells.acquired(h, 0, nil)
		tells.Renewed(h, time.Second)
		tells.RenewalFailed(h, testvotes.ViewOfAll(1), nil)
		tells.Ended(h, ErrReleased)
		tells.ClockJumped(h, 0, time.Second)
		tells.finished(nil)
		tells.failed("job", 0, ErrNoQuorum)
		tells.notMade("job", ErrNoQuorum)
		var nobody *telling
		nobody.finished(nil)
		nobody.failed("job", 0, ErrNoQuorum)
		nobody.notMade("job", ErrNoQuorum)
		c.tellUp("m")
		c.tellDown("m", ErrNoQuorum)
		c.tellOut("m", ErrNoQuorum)
		c.tellVersion(testvotes.ViewOfAll(2))
		c.tellMemberChanges(testvotes.ViewOfAll(2), testvotes.ViewOfAll(1))
		if tell := c.callTeller("m"); tell != nil {
			tell(time.Second, 1, nil)
		}
		if told != want[name] {
			t.Errorf("%s is told %d times, want %d", name, told, want[name])
		}
	}
}

// A default is nobody's choice: what was chosen decides what it is.
func TestTheDefaultTTLFits(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim string
		opts  []Option
		call  []LockOption
		want  time.Duration
	}{
		{"nothing is set", nil, nil, limits.DefaultTTL},
		{"a short max ttl", []Option{WithMaxTTL(10 * time.Second)}, nil, 10 * time.Second},
		{"a long max ttl", []Option{WithMaxTTL(time.Hour)}, nil, limits.DefaultTTL},
		{"a max ttl and a lock delay", []Option{WithMaxTTL(10 * time.Second), WithLockDelay(4 * time.Second)}, nil, 6 * time.Second},
		{"a lock delay", []Option{WithLockDelay(40 * time.Second)}, nil, 20 * time.Second},
		{"a lock delay at the call", nil, []LockOption{WithLockDelay(40 * time.Second)}, 20 * time.Second},
		{"less lock delay at the call", []Option{WithLockDelay(40 * time.Second)}, []LockOption{WithLockDelay(0)}, limits.DefaultTTL},
		{"a ttl", []Option{WithMaxTTL(10 * time.Second), WithTTL(5 * time.Second)}, nil, 5 * time.Second},
		{"a ttl, and more at the call", []Option{WithTTL(5 * time.Second)}, []LockOption{WithTTL(6 * time.Second)}, 6 * time.Second},
	} {
		cfg, err := newConfig(x.opts)
		if err != nil {
			t.Errorf("%s: %v", x.claim, err)
			continue
		}
		got, err := (&Client{config: cfg}).configFor("job", x.call)
		if err != nil || got.ttl != x.want {
			t.Errorf("%s: the ttl is %v (%v), want %v", x.claim, got.ttl, err, x.want)
		}
	}
	_, err := newConfig([]Option{WithMaxTTL(10 * time.Second), WithTTL(11 * time.Second)})
	requireOptionError(t, err, "ttl")
}

// An option that is refused is named as it was given, with what would be right; and only one
// that was given.
func TestOptionErrorsSayWhatWasGiven(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		opts []Option
		says string
	}{
		{[]Option{WithTTL(-1)}, "invalid ttl -1ns: must be at least 50ms"},
		{[]Option{WithTTL(49999999)}, "invalid ttl 49.999999ms: must be at least 50ms"},
		{[]Option{WithTTL(500900 * time.Microsecond)}, "invalid ttl 500.9ms: must be above the request timeout (500ms)"},
		{[]Option{WithLockDelay(-1)}, "invalid lock delay -1ns: must not be negative"},
		{[]Option{WithLockDelay(-999 * time.Microsecond)}, "invalid lock delay -999µs: must not be negative"},
		{[]Option{WithMaxHold(0)}, "invalid max hold 0s: must be positive, and at most 876000h0m0s"},
		{[]Option{WithMaxHold(-time.Hour)}, "invalid max hold -1h0m0s: must be positive, and at most 876000h0m0s"},
		{[]Option{WithHoldAtLeast(0)}, "invalid hold at least 0s: must be positive, and at most 876000h0m0s"},
		{[]Option{WithHoldAtLeast(-time.Hour)}, "invalid hold at least -1h0m0s: must be positive, and at most 876000h0m0s"},
		{[]Option{WithSlots(0)}, "invalid slots 0: must be 1 to 64"},
		{[]Option{WithSlots(-100)}, "invalid slots -100: must be 1 to 64"},
		{[]Option{WithLockDelay(time.Hour)}, "invalid lock delay 1h0m0s: must be at most 59.499s, so that a ttl of 501ms or more is left of the max ttl (1m0s)"},
		{[]Option{WithLockDelay(math.MaxInt64)}, "invalid lock delay 2562047h47m16.854775807s: must be at most 59.499s, so that a ttl of 501ms or more is left of the max ttl (1m0s)"},
		{[]Option{WithMaxTTL(10 * time.Second), WithLockDelay(10 * time.Second)}, "invalid lock delay 10s: must be at most 9.499s, so that a ttl of 501ms or more is left of the max ttl (10s)"},
		{[]Option{WithRequestTimeout(time.Hour)}, "invalid request timeout 1h0m0s: must be below the ttl, which is 30s by default (the max ttl is 1m0s)"},
		{[]Option{WithRequestTimeout(time.Second), WithMaxTTL(time.Second)}, "invalid request timeout 1s: must be below the ttl, which is 1s by default (the max ttl is 1s)"},
		{[]Option{WithMaxTTL(500 * time.Millisecond)}, "invalid max ttl 500ms: must be above the request timeout (500ms), as every ttl"},
		{[]Option{WithDrift(0.99)}, "invalid drift 0.99: must be lower: its allowance leaves too little of the ttl (30s by default)"},
	} {
		if _, err := newConfig(x.opts); err == nil || err.Error() != "redlock: "+x.says {
			t.Errorf("got %v, want %s", err, x.says)
		}
	}
	for _, right := range [][]Option{
		{WithLockDelay(59499 * time.Millisecond)},
		{WithMaxTTL(501 * time.Millisecond)},
		{WithRequestTimeout(30*time.Second - 1)},
	} {
		_, err := newConfig(right)
		must(t, err)
	}
}

// bsm/redislock's retry strategies keep state: options reused for a second call
// behaved differently. Ours are values.
func TestOptionsCanBeReused(t *testing.T) {
	t.Parallel()
	opts := []LockOption{WithTTL(10 * time.Second), WithLockDelay(time.Second), WithMaxHold(time.Hour), WithWait(time.Second), WithoutWatchdog()}
	var first lockConfig
	for i := range 100 {
		var l lockConfig
		for _, o := range opts {
			o.applyLock(&l)
		}
		if i == 0 {
			first = l
		}
		if l != first {
			t.Fatalf("use %d differs: %+v, first %+v", i, l, first)
		}
	}
}

func TestRetryPause(t *testing.T) {
	t.Parallel()
	held := func(free time.Duration, votes ...Vote) error {
		return &QuorumError{Reason: ErrHeld, FreeIn: free, Votes: votes}
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for _, x := range []struct {
		claim string
		try   int
		err   error
		want  time.Duration // without the random half
	}{
		{"nothing known: doubles", 2, ErrNoQuorum, 4 * minPause},
		{"to a bound", 20, ErrNoQuorum, maxPause},
		{"not beyond the end of the lease", 20, held(ms(50)), ms(51)},
		{"split votes start low", 0, held(0, Vote{Answer: Granted}), splitPause},
	} {
		if got := retryPause(x.try, x.err, 1); got != x.want {
			t.Errorf("%s: %v, want %v", x.claim, got, x.want)
		}
	}
	for _, x := range []struct {
		claim string
		err   error
		quiet time.Duration
		want  time.Duration
	}{
		{"split: who is next will be called", held(0, Vote{Answer: Granted}), ms(400), ms(400)},
		{"until the end of the lease", held(ms(300)), 0, ms(301)},
		{"at the most", held(ms(30000)), 0, askInterval},
		{"asked in vain: not more often", held(ms(10)), ms(400), ms(400)},
	} {
		if got, held := calledPause(x.err, x.quiet, askInterval); got != x.want || !held {
			t.Errorf("called, %s: %v, %v; want %v", x.claim, got, held, x.want)
		}
	}
	if _, held := calledPause(&QuorumError{Reason: ErrNoQuorum}, 0, askInterval); held {
		t.Error("nobody holds the lock when there is no quorum")
	}
}
