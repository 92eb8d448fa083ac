// Package operator founds the deployment of a chaos run and changes its members, as operators do with the redlock
// command. No fault of the network hits operators.
package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/fault"
)

// Operator does the work of all operators of a run. Each change has a client of its own. Set the exported fields
// before the first call.
type Operator struct {
	Masters  []cluster.Master // the founders, then the spares
	Founders int              // number of founders
	MaxTTL   time.Duration    // of the deployment

	// Patience is the longest time until clients notice that a majority has lost its data. Before that, members that
	// may have lost their data get new ids, and do not vote during their quarantine.
	Patience time.Duration

	// Open returns a client that names these masters.
	Open func(masters []cluster.Master) (*redlock.Client, error)

	Log io.Writer

	mu     sync.Mutex
	counts Counts
	calls  int64 // of ForceUnlock
}

// Counts counts the work of operators.
type Counts struct {
	Made    int // changes that were made
	Refused int // refused changes, and forced unlocks that met another holder
	Killed  int // operators that were killed, or gave up
	Inits   int // inits by force
	Forced  int // locks that were taken
}

var _ fault.Operator = (*Operator)(nil)

// Counts returns the counts so far.
func (o *Operator) Counts() Counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.counts
}

// Found founds the deployment.
func (o *Operator) Found(ctx context.Context) error {
	client, err := o.Open(o.Masters[:o.Founders])
	if err != nil {
		return err
	}
	return errors.Join(admin.Init(ctx, client, 0), client.Close())
}

// Change makes a change, and retries while the members cannot be reached.
func (o *Operator) Change(ctx context.Context, change admin.MemberChange) error {
	return o.change(ctx, change, 0)
}

// Remove removes a member, unless the deployment has fewer members than founders.
func (o *Operator) Remove(ctx context.Context, member string) error {
	return o.change(ctx, admin.RemoveMember(member), o.Founders)
}

// change is like Change, but refuses the change if the deployment has too few members.
func (o *Operator) change(ctx context.Context, change admin.MemberChange, least int) error {
	client, err := o.Open(o.Masters)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for ; ctx.Err() == nil; fault.Wait(ctx, 50*time.Millisecond) {
		if least > 0 {
			is, err := admin.Members(ctx, client)
			if err != nil {
				continue
			}
			if len(is.Members) < least {
				o.count(&o.counts.Refused)
				return nil
			}
		}
		switch err := admin.ChangeMembers(ctx, client, change, nil); {
		case err == nil:
			o.count(&o.counts.Made)
			return nil
		case errors.Is(err, admin.ErrChangeRefused):
			o.count(&o.counts.Refused)
			return nil
		}
	}
	o.count(&o.counts.Killed)
	return ctx.Err()
}

// Voting returns the members if all of them vote and no change is unfinished. Otherwise settled is false.
func (o *Operator) Voting(ctx context.Context) (members fault.Masters, settled bool) {
	client, err := o.Open(o.Masters)
	if err != nil {
		return 0, false
	}
	defer func() { _ = client.Close() }()
	is, err := admin.Members(ctx, client)
	if err != nil || is.Unfinished {
		return 0, false
	}
	number := map[string]int{}
	for n, m := range o.Masters {
		number[m.Addr()] = n
	}
	for _, m := range is.Members {
		if m.State != admin.MemberVoting {
			return 0, false
		}
		members |= fault.MastersOf(number[cmp.Or(m.Master, m.Address)])
	}
	return members, true
}

func (o *Operator) count(n *int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*n++
}

// Init waits until its client gets redlock.ErrNeedsInit, and then until all earlier grants have expired. Then it founds
// a deployment on the founders by force. If its client gets a lock instead, Init does nothing.
//
// If Init gets no addresses, the founders are the founders of the first deployment.
func (o *Operator) Init(ctx context.Context, founders ...string) error {
	if len(founders) == 0 {
		for _, m := range o.Masters[:o.Founders] {
			founders = append(founders, m.Addr())
		}
	}
	client, err := o.Open(o.Masters)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for end := time.Now().Add(o.Patience); ; fault.Wait(ctx, 100*time.Millisecond) {
		lock, err := client.TryLock(ctx, "operator")
		if err == nil {
			err = lock.Unlock(ctx) // fails if a majority loses its data meanwhile
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, redlock.ErrNeedsInit):
			return o.force(ctx, founders)
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(end):
			return fmt.Errorf("chaos: no lock can be acquired, and no client reports that the masters need an init: %w", err)
		}
	}
}

// force empties all masters except the founders, because no server with data of the old deployment must remain. Then it
// founds a deployment on the founders by force.
func (o *Operator) force(ctx context.Context, founders []string) error {
	fmt.Fprintf(o.Log, "chaos: a majority of the members lost its data: redlock init\n")
	fault.Wait(ctx, o.MaxTTL)
	var refounded []cluster.Master
	for _, m := range o.Masters {
		if slices.Contains(founders, m.Addr()) {
			refounded = append(refounded, m)
		} else if _, err := m.Do(ctx, "flushall"); err != nil {
			return fmt.Errorf("chaos: emptying %s: %w", m.Name(), err)
		}
	}
	client, err := o.Open(refounded)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for end := time.Now().Add(o.Patience); ; fault.Wait(ctx, 100*time.Millisecond) {
		err := admin.ForceInit(ctx, client, 0)
		if err == nil {
			o.count(&o.counts.Inits)
			return nil
		}
		if ctx.Err() != nil || time.Now().After(end) { // until then, retry: another operator may be at work, or a master was restarted
			return err
		}
	}
}

// Restore makes the founders the only members again, and waits until all of them vote. If this takes longer than the
// given time, it returns an error that describes what is missing. It returns redlock.ErrNeedsInit as soon as a client
// gets that error.
func (o *Operator) Restore(ctx context.Context, within time.Duration) error {
	client, err := o.Open(o.Masters)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	of, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		is, err := admin.Members(of, client)
		var change *admin.MemberChange
		if err == nil {
			if change, err = o.restoring(is); err == nil {
				return nil
			}
		}
		if change != nil {
			patient, give := context.WithTimeout(of, o.Patience) // a change may wait for members that do not return
			if failed := admin.ChangeMembers(patient, client, *change, nil); failed != nil {
				err = fmt.Errorf("%w: %w", err, failed)
			}
			give()
		}
		if ctx.Err() != nil {
			return nil
		}
		if of.Err() != nil {
			return err
		}
		if lock, err := client.TryLock(of, "operator"); err == nil {
			_ = lock.Unlock(of)
		} else if errors.Is(err, redlock.ErrNeedsInit) {
			return err
		}
		fault.Wait(of, 50*time.Millisecond)
	}
}

// restoring returns the next change that helps to restore the members, and an error that describes what is missing.
// Each may be nil.
func (o *Operator) restoring(is admin.Membership) (*admin.MemberChange, error) {
	state, astray, voting := map[string]admin.MemberState{}, "", 0
	for _, m := range is.Members {
		state[m.Address] = m.State
		if m.Master != "" && m.Master != m.Address {
			astray = m.Address
		}
		if m.State == admin.MemberVoting {
			voting++
		}
	}
	members, spare := len(is.Members), "" // spare is the address of a member that is no founder, or empty
	for _, m := range o.Masters[o.Founders:] {
		if state[m.Addr()] != "" {
			spare = m.Addr()
		}
	}
	next := func(c admin.MemberChange, format string, args ...any) (*admin.MemberChange, error) {
		return &c, fmt.Errorf(format, args...)
	}
	for _, m := range o.Masters { // suspended members first, because the other changes need enough voting members
		if state[m.Addr()] == admin.MemberSuspended {
			return next(admin.ResumeMember(m.Addr()), "%s is suspended", m.Name())
		}
	}
	// The address of a member led to another server, and clients gave that server the member's place.
	if astray != "" && voting == members && 2*(voting-1) > members {
		return next(admin.ReplaceMember(astray, astray), "the member %s is another server", astray)
	}
	for _, m := range o.Masters[:o.Founders] {
		switch is := state[m.Addr()]; {
		case is == "" && spare != "" && members >= o.Founders: // with fewer, too few would vote during the change
			return next(admin.ReplaceMember(spare, m.Addr()), "%s has its place taken", m.Name())
		case is == "":
			return next(admin.AddMember(m.Addr()), "%s is no member", m.Name())
		case is == admin.MemberNew:
			return nil, fmt.Errorf("%s is new", m.Name())
		}
	}
	if spare != "" {
		return next(admin.RemoveMember(spare), "a spare is a member")
	}
	if is.Unfinished {
		return nil, errors.New("a change is not finished")
	}
	return nil, nil
}
