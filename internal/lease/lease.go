package lease

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Lease is what each master granted, and what that proves.
type Lease struct {
	quorum.Majority               // of the table at Version
	Version         string        // of the table of members, at which votes count
	Given           quorum.Terms  // of votes that a release gave; the zero value: it takes none
	Limit           clock.Instant // when it ends at the latest; 0: no limit
	Masters         []Master

	few      [quorum.Few]Master // where they are if there are no more
	previous int                // votes at a previous version prove it if they are so many; 0: there are none
	disowned bool               // it ended because masters said "not yours"
}

// Init makes it that of an owner which so many masters are to be asked for, at a view.
func (l *Lease) Init(v *membership.View, masters int) {
	l.Version, l.Majority = v.Version, quorum.MajorityOf(v)
	l.Masters = quorum.InPlace(&l.few, masters)
}

// Acquire takes the votes of the acquisition, and returns until when a quorum of those that stand
// at the token is valid. A vote that lapsed must not stand for a token either: its master may have
// lost it, sat out the ttl, and voted again.
func (l *Lease) Acquire(votes, standing []script.Vote, t quorum.Terms, now clock.Instant) clock.Instant {
	var until [quorum.MaxMasters]clock.Instant
	for i, v := range votes {
		s := &l.Masters[i]
		s.take(Answer{To: ToAcquire, Vote: v, Terms: t, given: l.Given, version: l.Version, counts: true, Now: now})
		if standing[i].Answered && standing[i].Answer == script.Granted {
			s.Confirmed = true
			until[i] = s.Until
		}
	}
	return quorum.NthLargest(until[:len(votes)], l.Need)
}

// Take notes the answer of a master to what it was asked at a view. It returns what counts of it in
// its round; by how much the master's clock jumped, if that is why it does not count; and whether
// it takes back something that proved the lease. What is over stays over: an answer that comes
// later does not count, for a rival may have come and gone.
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

// counts reports whether votes at the view's version count. Those of different versions are never
// added up: from the first one at a newer version on, the older ones prove what they have proved,
// and no more. Those that prove the lease for longest are kept.
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

// Until is the end of the lease: until then a quorum of votes counts.
func (l *Lease) Until() clock.Instant {
	end := max(l.provedUntil())
	if l.Limit != 0 {
		end = min(end, l.Limit)
	}
	return end
}

// provedUntil returns until when a quorum of votes at the version of the lease counts, and until
// when one at a previous version does.
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

// Disowned reports that a lease which is over would not be, had masters not said "not yours", or
// that those that did not are no quorum. Else its time ran out.
func (l *Lease) Disowned() bool {
	lost := 0
	for _, s := range l.Masters {
		if s.Lost && !s.Granted {
			lost++
		}
	}
	return l.disowned || lost > l.Of-l.Need
}

// askAgain returns which of the masters that failed in a renewal are to be asked once more now:
// those that were asked pause ago or before. It reports whether the renewal can go on. It cannot
// with a master that lost the lock, which is sent a repair instead, or was: each repair is one of a
// round of its own.
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
