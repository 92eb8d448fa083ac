//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/fault"
)

// operator founds the deployment of a round and changes its members, past the fronts. Each
// change is made by a client of its own.
type operator struct {
	masters []cluster.Master // the founders, then the spares
	log     io.Writer

	mu       sync.Mutex
	done     int // changes that were made
	refused  int
	unending int // operators that were killed, or gave up
	inits    int // by force
}

var _ fault.Operator = (*operator)(nil)

// fewest is below how many members no operator goes.
const fewest = 4

// open returns a client that names all masters, or the first n.
func (o *operator) open(n int) (*redlock.Client, error) {
	var urls []string
	for _, m := range o.masters[:n] {
		urls = append(urls, "redis://"+m.Addr())
	}
	return redlock.Open(urls, redlock.WithTTL(ttl), redlock.WithMaxTTL(maxTTL), redlock.WithRequestTimeout(requestTimeout))
}

// found founds the deployment.
func (o *operator) found(ctx context.Context) error {
	client, err := o.open(masterCount)
	if err != nil {
		return err
	}
	return errors.Join(client.Init(ctx, 0), client.Close())
}

func (o *operator) Suspend(ctx context.Context, member string) error {
	return o.change(ctx, redlock.SuspendMember(member), 0)
}

func (o *operator) Resume(ctx context.Context, member string) error {
	return o.change(ctx, redlock.ResumeMember(member), 0)
}

func (o *operator) Replace(ctx context.Context, member, spare string) error {
	return o.change(ctx, redlock.ReplaceMember(member, spare), 0)
}

func (o *operator) Add(ctx context.Context, server string) error {
	return o.change(ctx, redlock.AddMember(server), 0)
}

func (o *operator) Remove(ctx context.Context, member string) error {
	return o.change(ctx, redlock.RemoveMember(member), fewest+1)
}

// change makes a change of at least so many members, and tries again as long as they
// cannot be reached.
func (o *operator) change(ctx context.Context, change redlock.MemberChange, least int) error {
	client, err := o.open(len(o.masters))
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for ; ctx.Err() == nil; sleep(ctx, 50*time.Millisecond) {
		if least > 0 {
			is, err := client.Members(ctx)
			if err != nil {
				continue
			}
			if len(is.Members) < least {
				o.count(&o.refused)
				return nil
			}
		}
		switch err := client.ChangeMembers(ctx, change, nil); {
		case err == nil:
			o.count(&o.done)
			return nil
		case errors.Is(err, redlock.ErrChangeRefused):
			o.count(&o.refused)
			return nil
		}
	}
	o.count(&o.unending)
	return ctx.Err()
}

func (o *operator) count(n *int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*n++
}

// needPatience is how long it takes at most to find out that a majority lost its data: the
// members that may have are given new ids before, and sit out their quarantine.
const needPatience = quarantine + 5*time.Second

// Init waits until somebody is told that the members need an operator, lets all that was
// granted before be over, and founds them by force. When a lock can be had instead, nothing
// is done.
func (o *operator) Init(ctx context.Context, founders []string) error {
	client, err := o.open(len(o.masters))
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for end := time.Now().Add(needPatience); ; sleep(ctx, 100*time.Millisecond) {
		lock, err := client.TryLock(ctx, "operator")
		switch {
		case err == nil:
			return lock.Unlock(ctx)
		case errors.Is(err, redlock.ErrNeedsInit):
			return o.force(ctx, founders)
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(end):
			return fmt.Errorf("chaos: nothing can be locked, and nobody is told that the masters need an init: %w", err)
		}
	}
}

// force founds the masters anew. The others are emptied: no server of the deployment before
// may be left.
func (o *operator) force(ctx context.Context, founders []string) error {
	fmt.Fprintf(o.log, "chaos: a majority of the members lost its data: redlock init\n")
	sleep(ctx, maxTTL)
	var urls []string
	for _, m := range o.masters {
		if slices.Contains(founders, m.Addr()) {
			urls = append(urls, "redis://"+m.Addr())
		} else if _, err := m.Do(ctx, "flushall"); err != nil {
			return fmt.Errorf("chaos: emptying %s: %w", m.Name(), err)
		}
	}
	client, err := redlock.Open(urls, redlock.WithMaxTTL(maxTTL))
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for end := time.Now().Add(needPatience); ; sleep(ctx, 100*time.Millisecond) {
		err := client.ForceInit(ctx, 0)
		if err == nil {
			o.count(&o.inits)
			return nil
		}
		if ctx.Err() != nil || time.Now().After(end) { // another operator was at work, or a master was restarted: run it again
			return err
		}
	}
}

// restore makes the founders the members again, all of which vote, within the time for it.
// It returns what is not so by then.
func (o *operator) restore(ctx context.Context, within time.Duration) error {
	client, err := o.open(len(o.masters))
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	of, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		is, err := client.Members(of)
		var change *redlock.MemberChange
		if err == nil {
			if change, err = o.restoring(is); err == nil {
				return nil
			}
		}
		if change != nil {
			if failed := client.ChangeMembers(of, *change, nil); failed != nil {
				err = fmt.Errorf("%w: %w", err, failed)
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if of.Err() != nil {
			return err
		}
		sleep(of, 50*time.Millisecond)
	}
}

// restoring returns the next change to restore the members, if there is one, and what is
// not as it was.
func (o *operator) restoring(is redlock.Membership) (*redlock.MemberChange, error) {
	state := map[string]redlock.MemberState{}
	for _, m := range is.Members {
		state[m.Address] = m.State
	}
	spare := "" // a member that is none of the founders
	for _, m := range o.masters[masterCount:] {
		if state[m.Addr()] != "" {
			spare = m.Addr()
		}
	}
	next := func(c redlock.MemberChange, format string, args ...any) (*redlock.MemberChange, error) {
		return &c, fmt.Errorf(format, args...)
	}
	for _, m := range o.masters[:masterCount] {
		switch is := state[m.Addr()]; {
		case is == "" && spare != "":
			return next(redlock.ReplaceMember(spare, m.Addr()), "%s has its place taken", m.Name())
		case is == "":
			return next(redlock.AddMember(m.Addr()), "%s is no member", m.Name())
		case is == redlock.MemberSuspended:
			return next(redlock.ResumeMember(m.Addr()), "%s is suspended", m.Name())
		case is == redlock.MemberNew:
			return nil, fmt.Errorf("%s is new", m.Name())
		}
	}
	if spare != "" {
		return next(redlock.RemoveMember(spare), "a spare is a member")
	}
	if is.Unfinished {
		return nil, errors.New("a change is not finished")
	}
	return nil, nil
}
