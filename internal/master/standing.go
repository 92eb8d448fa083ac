package master

import (
	"regexp"
	"slices"
)

// standing is what is told of a master: that it can be used, or why not. A server that can be
// reached may refuse all that writes, for the state that it is in. It has no vote then either.
type standing struct {
	// turn has its one place taken while somebody looks at the rest, or changes it and tells.
	turn     chan struct{}
	reached  bool
	down     error // why it cannot be reached or used; nil: it can, or was not tried
	refuses  error // why it refuses what writes; nil: it does not
	toldUp   bool  // the last that was told
	toldDown bool
}

// setStanding changes the standing of the master, and tells of it.
func (m *Master) setStanding(change func(*standing)) {
	s := &m.standing
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	change(s)
	why := s.down
	if why == nil {
		why = s.refuses
	}
	switch {
	case why != nil && !s.toldDown:
		s.toldUp, s.toldDown = false, true
		m.Down(why)
	case why == nil && s.reached && !s.toldUp:
		s.toldUp, s.toldDown = true, false
		m.Up()
	}
}

// stateWords begin a server's error when the state that it is in keeps it from running what writes.
// (BUSY, LOADING and MASTERDOWN keep it from all.) Another client, or the same one a moment later,
// is refused in the same way.
var stateWords = []string{"BUSY", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY"}

// firstWord finds the word that begins an error. In Redis 6 the error of a command in a script
// begins with where it stands.
var firstWord = regexp.MustCompile(`^(?:@user_script: ?\d+: )?-?([A-Z]+) `)

// RefusesWrites reports that err is a server's reply that the state that it is in keeps it from
// running what writes.
func RefusesWrites(err error) bool {
	if err == nil || !IsReply(err) {
		return false
	}
	word := firstWord.FindStringSubmatch(err.Error())
	return word != nil && slices.Contains(stateWords, word[1])
}

// refusesWrite looks at what an operation replied.
func (m *Master) refusesWrite(err error) {
	if RefusesWrites(err) {
		m.setStanding(func(s *standing) {
			if s.refuses == nil && m.Refuses != nil {
				m.Refuses()
			}
			s.refuses = err
		})
	}
}

// Wrote tells what became of a command that writes, and takes memory: nil ends a refusal of the
// server. Refused operations do not, since some of those that free memory succeed where others
// fail.
func (m *Master) Wrote(err error) {
	if err == nil {
		m.setStanding(func(s *standing) { s.refuses = nil })
	}
	m.refusesWrite(err)
}

// Refusal is why the server refuses what writes, or nil if it does not, as far as is known.
func (m *Master) Refusal() error {
	m.standing.turn <- struct{}{}
	defer func() { <-m.standing.turn }()
	return m.standing.refuses
}
