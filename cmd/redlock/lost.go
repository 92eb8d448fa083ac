//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/quorum"
)

const (
	// The command is killed some time before the masters may free the lock. This time is a tenth of the grace
	// (shortShare). If that is more than 500 ms (the constant enough), it is 500 ms or a fiftieth of the grace
	// (longShare), whichever is longer. A master's clock may be 1 % fast, which takes a hundredth of the grace. The
	// rest is for the scheduler, and for the processes to end.
	shortShare = 10
	enough     = 500 * time.Millisecond
	longShare  = 50

	// look is the interval at which endBy checks whether SIGKILL is due, and whether the process group
	// has ended. (One timer would not do: Go's timers stop while the machine is suspended.)
	look = 20 * time.Millisecond
)

// killAfter returns how long after the end of the lease the command is killed. After the end of the lease, the
// masters keep the lock for the grace (the lock delay).
func killAfter(grace time.Duration) time.Duration {
	return grace - min(grace/shortShare, max(enough, grace/longShare))
}

// lost stops the command after its lock was lost. It sends SIGTERM at once, and SIGKILL before another client can
// acquire the lock. The time until SIGKILL counts from the end of the lease. This end may be long past if this
// process did not run for a while. If the masters replied that the lock is gone, SIGKILL follows at once.
func lost(lock *redlock.Lock, c *child, grace time.Duration, away *away) {
	cause := context.Cause(lock.Context())
	refused := c.askToEnd()
	if refused != nil {
		complain(fmt.Errorf("%q (token %v) was lost, and the command cannot be stopped: %w", lock.Name(), lock.Token(), refused))
	}
	status, killed := c.endBy(func() bool {
		return errors.Is(cause, redlock.ErrLost) || time.Now().After(lock.Until().Add(killAfter(grace)))
	})
	c.takeTerminalBack()

	how := "it stopped at SIGTERM"
	switch {
	case killed:
		how = "it was killed"
	case refused != nil:
		how = "it ended by itself"
	}
	complain(fmt.Errorf("%q (token %v) was lost while the command ran: %s; %s, its status was %d",
		lock.Name(), lock.Token(), away.reason(cause), how, status))
	_ = lock.Unlock(context.Background()) // Unlock only returns once more that the lock is lost
}

// away records the masters that are down, and those that did not renew the lock in a failed round. A master is removed
// when it comes up, or renews the lock in a later failed round: only failed rounds report votes.
type away struct {
	mu      sync.Mutex
	masters map[string]absence
}

type absence struct {
	since time.Time
	why   string
}

func (a *away) observer() redlock.Observer {
	return redlock.Observer{
		MasterDown: func(m redlock.MasterStatus) { a.note(m.Master, m.Err) },
		MasterUp:   func(m redlock.MasterStatus) { a.note(m.Master, nil) },
		RenewalFailed: func(_ context.Context, f redlock.FailedRenewal) {
			if q, is := errors.AsType[*redlock.QuorumError](f.Err); is {
				for _, v := range q.Votes {
					if !errors.Is(v.Err, quorum.ErrNotAwaited) { // the master may have been about to answer
						a.note(v.Master, v.Err)
					}
				}
			}
		},
	}
}

// note records why a master is away. If err is nil, it records that the master is back.
func (a *away) note(master string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch _, is := a.masters[master]; {
	case err == nil:
		delete(a.masters, master)
	case !is:
		a.masters[master] = absence{time.Now(), oneLine(err)}
	}
}

// reason returns why a lock was lost. If the lease ran out, reason names the masters that were away.
func (a *away) reason(cause error) string {
	if !errors.Is(cause, redlock.ErrExpired) {
		return oneLine(cause)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var texts []string
	for master, absent := range a.masters {
		texts = append(texts, fmt.Sprintf("%s away since %s (%s)", master, absent.since.Format(time.TimeOnly), absent.why))
	}
	if texts == nil {
		texts = []string{"no master was away, so this process did not run for a while"}
	}
	slices.Sort(texts)
	return oneLine(cause) + ": " + strings.Join(texts, ", ")
}

// askToEnd sends SIGTERM before SIGCONT. So a stopped process gets the SIGTERM as soon as it continues.
func (c *child) askToEnd() error {
	err := c.signal(syscall.SIGTERM)
	_ = c.signal(syscall.SIGCONT)
	return err
}

// endBy waits until the command and its whole group have ended, and kills them once due() returns true. It
// returns the command's status, and whether the command was killed.
func (c *child) endBy(due func() bool) (status int, killed bool) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	ended, sent := false, false
	for {
		// After SIGKILL the group may still have zombies that another process should have reaped.
		// endBy does not wait for them.
		if ended && (sent || !c.groupExists()) {
			return status, killed
		}
		if !sent && due() {
			sent, killed = true, c.signal(syscall.SIGKILL) == nil && !ended
		}
		select {
		case state := <-c.states:
			if !state.Stopped() {
				status, ended = statusOf(state), true
			}
		case <-tick.C:
		}
	}
}
