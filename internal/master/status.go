package master

import (
	"regexp"
	"slices"
)

// status records whether a master can be used, and if not, why. Up and Down report its changes. A server that can be
// reached may still refuse all writes because of its state. Then it has no vote.
type status struct {
	// turn is a lock. A goroutine holds it while it uses the other fields, and calls Up or Down.
	turn         chan struct{}
	reached      bool
	down         error // why the server cannot be reached or used; nil: it can, or was not tried
	refuses      error // why the server refuses writes; nil: it does not
	reportedUp   bool  // Up was called last
	reportedDown bool  // Down was called last
}

// setStatus changes the status of the master, and calls Up or Down if the last such call is out of date.
func (m *Master) setStatus(change func(*status)) {
	s := &m.status
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	change(s)
	why := s.down
	if why == nil {
		why = s.refuses
	}
	switch {
	case why != nil && !s.reportedDown:
		s.reportedUp, s.reportedDown = false, true
		m.Down(why)
	case why == nil && s.reached && !s.reportedUp:
		s.reportedUp, s.reportedDown = true, false
		m.Up()
	}
}

// If a server refuses writes because of its state, its error begins with one of the stateWords. (BUSY, LOADING and
// MASTERDOWN also prevent reads.) Another client, or the same client a moment later, gets the same refusal.
var stateWords = []string{"BUSY", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY"}

// firstWord finds the first word of an error. In Redis 6, the position of a command in a script comes
// before this word.
var firstWord = regexp.MustCompile(`^(?:@user_script: ?\d+: )?-?([A-Z]+) `)

// RefusesWrites reports whether err is a server's reply that its state prevents writes.
func RefusesWrites(err error) bool {
	if err == nil || !IsReply(err) {
		return false
	}
	word := firstWord.FindStringSubmatch(err.Error())
	return word != nil && slices.Contains(stateWords, word[1])
}

// refusesWrite records err if it shows that the server refuses writes. The first time, it calls Refuses.
func (m *Master) refusesWrite(err error) {
	if RefusesWrites(err) {
		m.setStatus(func(s *status) {
			if s.refuses == nil && m.Refuses != nil {
				m.Refuses()
			}
			s.refuses = err
		})
	}
}

// Wrote takes the result of a command that writes and needs memory. If err is nil, the server no longer refuses
// writes. The success of an operation does not show this, because some operations need no memory.
func (m *Master) Wrote(err error) {
	if err == nil {
		m.setStatus(func(s *status) { s.refuses = nil })
	}
	m.refusesWrite(err)
}

// Refusal returns why the server refuses writes; nil if it does not, as far as this client knows.
func (m *Master) Refusal() error {
	m.status.turn <- struct{}{}
	defer func() { <-m.status.turn }()
	return m.status.refuses
}
