package master

import (
	"regexp"
	"slices"
)

// status records whether a master can be used, or why not, for the reports by Up and Down. A
// reachable server may refuse all writes because of its state. Then it has no vote.
type status struct {
	// turn is a lock, held while a goroutine reads or changes the other fields and reports.
	turn         chan struct{}
	reached      bool
	down         error // why it cannot be reached or used; nil: it can, or was not tried
	refuses      error // why it refuses writes; nil: it does not
	reportedUp   bool  // last report
	reportedDown bool
}

// setStatus changes the status of the master, and reports it.
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

// A server's error begins with one of the stateWords if the server's state prevents writes. (BUSY, LOADING and
// MASTERDOWN prevent everything.) Another client, or the same client a moment later, gets the same refusal.
var stateWords = []string{"BUSY", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY"}

// firstWord finds the word that begins an error. In Redis 6 the error of a command in a script
// begins with the command's position.
var firstWord = regexp.MustCompile(`^(?:@user_script: ?\d+: )?-?([A-Z]+) `)

// RefusesWrites reports whether err is a server's reply that its state prevents writes.
func RefusesWrites(err error) bool {
	if err == nil || !IsReply(err) {
		return false
	}
	word := firstWord.FindStringSubmatch(err.Error())
	return word != nil && slices.Contains(stateWords, word[1])
}

// refusesWrite checks the reply of an operation.
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
// writes. A successful operation does not show this: some operations free memory, and succeed where others fail.
func (m *Master) Wrote(err error) {
	if err == nil {
		m.setStatus(func(s *status) { s.refuses = nil })
	}
	m.refusesWrite(err)
}

// Refusal returns why the server refuses writes, or nil if it does not, as far as is known.
func (m *Master) Refusal() error {
	m.status.turn <- struct{}{}
	defer func() { <-m.status.turn }()
	return m.status.refuses
}
