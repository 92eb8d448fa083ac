package lease

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Lease has the grants of the masters, and the time until which they prove the lease.
type Lease struct {
	quorum.Majority               // of the table at Version
	Version         string        // of the table of members; new votes count only at this version
	Given           quorum.Terms  // the terms of a grant by a release; the zero value: no release may grant the lock
	Limit           clock.Instant // the latest end; 0: none
	Masters         []Master

	few      [quorum.Few]Master // storage for up to Few masters
	previous int                // the size of a quorum at the previous version whose votes still count; 0: no such version
	disowned bool               // the lease ended because masters answered "not yours"
}

// Init prepares the lease for a request to this number of masters, at a view.
func (l *Lease) Init(v *membership.View, masters int) {
	l.Version, l.Majority = v.Version, quorum.MajorityOf(v)
	l.Masters = quorum.InPlace(&l.few, masters)
}

// Acquire takes the votes of the acquisition. It returns the time until which a quorum of the votes
// that stand at the token counts. A vote whose time is over counts for neither the lease nor the
// token: its master may have lost its data, become a new member, and voted again after a quarantine.
func (l *Lease) Acquire(votes, atToken []script.Vote, t quorum.Terms, now clock.Instant) clock.Instant {
	var until [quorum.MaxMasters]clock.Instant
	for i, v := range votes {
		s := &l.Masters[i]
		s.take(Answer{To: ToAcquire, Vote: v, Terms: t, given: l.Given, version: l.Version, counts: true, Now: now})
		if atToken[i].Answered && atToken[i].Answer == script.Granted {
			s.Confirmed = true
			until[i] = s.Until
		}
	}
	return quorum.NthLargest(until[:len(votes)], l.Need)
}

// Take records a master's answer to a request at a view. It returns the vote that counts in the
// round. If this vote does not count because the master's clock jumped, jumped is the size of the
// jump. takenBack is true if the answer takes back a vote that proved the lease. A lease that is
// over stays over: a late answer does not count, because a rival may have had the lock.
func (l *Lease) Take(master int, a Answer, at *membership.View, over bool) (counted script.Vote, jumped time.Duration, takenBack bool) {
	s := &l.Masters[master]
	before := *s
	runs := !over && a.Now.Before(l.Until())
	a.version, a.given = at.Version, l.Given
	a.counts = runs && a.Vote.Answer == script.Granted && l.counts(at)
	counted, jumped = s.take(a)
	if !runs {
		return counted, 0, false
	}
	if takenBack = s.Until < before.Until || s.Previous < before.Previous; takenBack {
		l.disowned = !a.Now.Before(l.Until())
	}
	return counted, jumped, takenBack
}

// counts reports whether votes at the view's version count. Votes of different versions are never added up. With the
// first vote at a newer version, the lease moves to that version. The earlier votes still prove the lease until the
// same time as before. Of earlier votes at several versions, counts keeps those that prove the lease for longest.
func (l *Lease) counts(v *membership.View) bool {
	if v.Version == l.Version {
		return true
	}
	if v.Version > l.Version {
		latest, previous := l.provedUntil()
		for i := range l.Masters {
			s := &l.Masters[i]
			if latest > previous {
				s.Previous = s.Until
			}
			s.Until = 0
		}
		if latest > previous {
			l.previous = l.Need
		}
		l.Version, l.Majority = v.Version, quorum.MajorityOf(v)
	}
	return v.Version == l.Version
}

// Until returns the end of the lease: the earlier of Limit and the time until which a quorum of votes counts.
func (l *Lease) Until() clock.Instant {
	end := max(l.provedUntil())
	if l.Limit != 0 {
		end = min(end, l.Limit)
	}
	return end
}

// provedUntil returns the time until which a quorum of votes at the version of the lease counts,
// and the corresponding time for the previous version.
func (l *Lease) provedUntil() (latest, previous clock.Instant) {
	var until [quorum.MaxMasters]clock.Instant
	for i := range l.Masters {
		until[i] = l.Masters[i].Until
	}
	latest = quorum.NthLargest(until[:len(l.Masters)], l.Need)
	if l.previous > 0 {
		for i := range l.Masters {
			until[i] = l.Masters[i].Previous
		}
		previous = quorum.NthLargest(until[:len(l.Masters)], l.previous)
	}
	return latest, previous
}

// Disowned reports whether answers "not yours" ended the lease, or left no quorum.
func (l *Lease) Disowned() bool {
	lost := 0
	for _, s := range l.Masters {
		if s.Lost && !s.Granted {
			lost++
		}
	}
	return l.disowned || lost > l.Of-l.Need
}

// askAgain returns the failed masters of a renewal that are due: the last request to them was sent at least a duration
// (pause) ago. goesOn is false if one of the failed masters needs a repair, or was sent a repair. Then only another
// renewal helps, because the vote of a repair counts from the next round on.
func (l *Lease) askAgain(failed []int, repairs func(int) bool, now clock.Instant, pause time.Duration) (due []int, goesOn bool) {
	for _, i := range failed {
		if l.Masters[i].Lost || repairs(i) {
			return nil, false
		}
	}
	for _, i := range failed {
		if s := &l.Masters[i]; !now.Before(s.Asked.Add(pause)) {
			s.Asked = now
			due = append(due, i)
		}
	}
	return due, true
}
