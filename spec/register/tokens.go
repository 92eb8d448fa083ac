package register

import "fmt"

// tokens is the model of the register and of how tokens are made. It has no clock. A lock may vanish at any
// moment: so a grant may take the lock from any owner. Any message may come late, or never. Each ballot has
// one proposer. A proposer may stop at any step.
//
// Promises: the committed tables form one chain: each is made from the previous one. Complete attempts have
// different tokens. The token of an attempt is above every token that was complete before the attempt began.
// Once a token is complete, no re-entry finds a quorum with the grants of an attempt with a lower token. A member
// carries the mark "learned" only for a committed version. While a server keeps its id, it does not forget
// that it accepted a table by which it is not durable (checked in configurations without attempts). As long
// as no server lost data, each committed table has a quorum that may vote.
type tokens struct {
	changing

	// Promised: a member accepts only a ballot that is not below its promised ballot. 0: it accepts any ballot
	// above its accepted ballot.
	Promised int `full:"1"`
	// Prev: a change needs promises from a majority of the members of the highest table among the replies. Unless
	// this table is known to be committed, the change also needs promises from a majority of the members of the
	// previous table. 0: the first majority is enough.
	Prev int `full:"1"`
	// Unchanged: a table that is not known to be committed is proposed again, unchanged. 0: it may
	// be changed at once.
	Unchanged int `full:"1"`
	// Commit: a version is committed when a majority of its members and a majority of the previous version's
	// members accepted it. 0: a majority of its members is enough.
	Commit int `full:"1"`
	// Push: a table is pushed only if there is evidence that it is committed. 1: it is enough that a
	// majority of the table's members accepted it. 0: a proposed table may be pushed, too.
	Push int `full:"2"`
	// Raise: a push raises the member's promise to the pushed version. 0: the promise stays.
	Raise int `full:"1"`
	// Reset: a member that accepts another version loses the mark "learned". 0: the mark stays.
	Reset int `full:"1"`
	// Wipe: a server that gets a new id forgets what it promised and accepted. 0: the
	// server remembers both.
	Wipe int `full:"1"`

	// Version: a master executes only acquires that carry the version that it accepted. 1: also acquires with
	// earlier versions. 0: acquires with any version, even if the master has accepted none.
	Version int `full:"2"`
	// Voting: a master executes acquires only while its own id is voting in the accepted table. 0: a member
	// that is not voting executes acquires, too.
	Voting int `full:"1"`
	// Round: a round asks all masters for votes of one version. 0: each master votes at the version that it
	// accepted.
	Round int `full:"1"`
	// Confirm: a confirm carries the round's version, and a master executes it only at that version. 0: a confirm
	// carries no version.
	Confirm int `full:"1"`
	// Quorum: a quorum is a majority of all members of the table. 0: a majority of the voting members is enough.
	Quorum int `full:"1"`
	// Use: an attempt uses a version only if there is evidence that the version is committed. 0: a
	// proposed version may be used, too.
	Use int `full:"1"`

	// ReadQuorum: the counters for a new member are read from a quorum. 0: one member's counter is enough.
	ReadQuorum int `full:"1"`
	// ReadBarrier: these counters are read at a committed version that lists the member as new. 1: this
	// version need not be committed. 0: it need only exist, and the members that are read may be at any version.
	ReadBarrier int `full:"2"`
	// ReadOne: all these counters are read at one version. 0: different counters may be read at
	// different versions.
	ReadOne int `full:"1"`
	// Floor: before a removal, the counters of a quorum are read at the present version. The counters of a quorum
	// of the other members are raised to the highest counter that was read. 0: no counter is read or raised.
	Floor int `full:"1"`
	// Base: a removal is made on exactly the version at which the counters were read. 0: on a later version, too.
	Base int `full:"1"`

	Ballots  int `bound:"3"` // ballot 1 is the first version
	Founded  int `bound:"1"` // 0: no server has accepted the first version yet
	Serial   int `bound:"1"` // 1: each change is decided in one step, on the previous committed version; 0: after promises
	Attempts int `bound:"2"`
	Ghosts   int `bound:"0"` // grants that no attempt counts
	Old      int `bound:"0"` // 1: a server that loses data may come back with old counters and locks; 0: only empty
	Reenter  int `bound:"0"` // 1: the locks of complete attempts stay, so that they can be re-entered
	Marks    int `bound:"0"` // 1: members learn what is committed
}

const (
	maxBallots  = 7
	maxAttempts = 2
)

type tokensState struct {
	fleet
	master  [maxFleet]master
	ballot  [maxBallots + 1]ballot // from 1 on
	attempt [maxAttempts]attempt
	highest uint8 // the highest token of a complete attempt
	ghosts  uint8
	ready   ids     // the new members for which counters were read
	floor   raising // the counters before a removal
	disk    [maxWeakens]disk
}

// disk is the data on the disk of a server that no longer saves its data.
type disk struct {
	id   uint8
	data master
}

// master is one server. promised is never below accepted, unless a rule is weakened.
type master struct {
	promised, accepted uint8
	learned            bool
	counter            uint8
	lock               uint8 // the attempt whose grant is there, counted from 1; 0: none
	read               ids   // the members whose counters were read for this server
	readAt             uint8 // the version at which these counters were read
}

// ballot is one run of a proposer, and the version that this run proposes.
type ballot struct {
	promises ids   // the members that promised the ballot; empty after the decision
	found    uint8 // the highest version in their replies; 0 after the decision
	decided  bool
	base     uint8
	table    table
	prev     ids // the members of the previous table
	accepted ids // the members that ever accepted the table
}

// attempt is one fresh acquisition.
type attempt struct {
	version uint8 // 0: the attempt has not begun
	votes   [maxIDs]uint8
	token   uint8 // 0: not known yet
	atToken ids   // the members that stand at the token
	floor   uint8 // the highest token that was complete when the attempt began
	done    bool
}

// raising is the state of a client that prepares a removal.
type raising struct {
	base    uint8
	read    ids
	highest uint8
	raised  ids
}

func (m *tokens) start() (s tokensState) {
	s.fleet = m.firstFleet()
	first := m.firstTable()
	s.ballot[1] = ballot{decided: true, table: first, prev: first.members()}
	if m.Founded == 0 {
		return s
	}
	s.ballot[1].accepted = first.members()
	for i := range m.Members {
		s.master[i] = master{promised: 1, accepted: 1}
	}
	return s
}

const (
	promise = iota
	decide
	takeTable
	push
	learn
	lose
	grant
	ghost
	choose
	confirm
	read
	readFloor
	raiseFloor
)

func (m *tokens) steps(s *tokensState, to func(*tokensState, move)) {
	for b := uint8(1); b <= uint8(m.Ballots); b++ {
		m.propose(s, b, to)
		for i := range m.servers() {
			m.accept(s, b, i, to)
		}
	}
	for i := range m.servers() {
		m.learn(s, i, to)
		m.lose(s, i, to)
		m.write(s, i, to)
		m.readFor(s, i, to)
		m.beforeRemoval(s, i, to)
		m.grant(s, i, to)
		m.confirm(s, i, to)
	}
	m.looks(&s.fleet, func(i uint8) uint8 { return s.master[i].accepted }, func(version uint8) known {
		b := &s.ballot[version]
		return known{b.table, b.prev, m.evidence(s, version)}
	}, func(f *fleet, kind, a, b uint8) {
		next := *s
		next.fleet = *f
		to(&next, move{kind, a, b, 0})
	})
	for k := range s.attempt {
		m.choose(s, k, to)
	}
}

// mayVote reports whether server i executes operations that carry the version that it accepted.
func (m *tokens) mayVote(s *tokensState, i uint8) bool {
	t := &s.ballot[s.master[i].accepted].table
	if s.out.has(i) || m.Silent == 1 && m.weakened(&s.fleet, i, t) {
		return false
	}
	switch {
	case m.Version == 0:
		return i < uint8(m.Members)
	case m.Voting == 0:
		return t.members().has(s.id[i])
	}
	return t.voting.has(s.id[i])
}

// executes reports whether server i executes operations that carry a version.
func (m *tokens) executes(s *tokensState, i, version uint8) bool {
	at := s.master[i].accepted
	return m.mayVote(s, i) && (version == at || m.Version == 0 || m.Version == 1 && version < at)
}

// grant lets server i grant the lock to an attempt, or make a grant that no attempt counts.
func (m *tokens) grant(s *tokensState, i uint8, to func(*tokensState, move)) {
	if !m.mayVote(s, i) {
		return
	}
	if int(s.ghosts) < m.Ghosts {
		next := *s
		next.ghosts++
		next.master[i].counter++
		next.master[i].lock = 0
		to(&next, move{kind: ghost, a: i})
	}
	for k := range uint8(m.Attempts) {
		a := &s.attempt[k]
		if a.done || a.token != 0 || a.votes[s.id[i]] != 0 {
			continue
		}
		if a.version != 0 {
			if m.Round == 0 || m.executes(s, i, a.version) {
				m.vote(s, k, i, a.version, to)
			}
			continue
		}
		if k > 0 && s.attempt[k-1].version == 0 {
			continue // attempts are alike: they begin in the order of their numbers
		}
		for version := uint8(1); version <= uint8(m.Ballots); version++ {
			usable := s.ballot[version].decided && (m.Use == 0 || m.evidence(s, version))
			if usable && m.executes(s, i, version) {
				m.vote(s, k, i, version, to)
			}
		}
	}
}

func (m *tokens) vote(s *tokensState, k, i, version uint8, to func(*tokensState, move)) {
	next := *s
	a, v := &next.attempt[k], &next.master[i]
	if a.version == 0 {
		a.version, a.floor = version, s.highest
	}
	v.counter++
	v.lock = k + 1
	a.votes[s.id[i]] = v.counter
	to(&next, move{grant, k, i, version})
}

// choose lets attempt k take its highest grant number as its token, if a quorum has granted.
func (m *tokens) choose(s *tokensState, k int, to func(*tokensState, move)) {
	a := &s.attempt[k]
	if a.version == 0 || a.token != 0 || a.done {
		return
	}
	var voted, atToken ids
	var token uint8
	for id, n := range a.votes {
		if n > 0 {
			voted |= one(uint8(id))
		}
		token = max(token, n)
	}
	if !m.quorum(s, a.version, voted) {
		return
	}
	for id, n := range a.votes {
		if n == token {
			atToken |= one(uint8(id))
		}
	}
	next := *s
	next.attempt[k].token, next.attempt[k].atToken = token, atToken
	m.settle(&next, k)
	to(&next, move{choose, uint8(k), token, 0})
}

// confirm lets server i confirm the token of the attempt whose grant it has.
func (m *tokens) confirm(s *tokensState, i uint8, to func(*tokensState, move)) {
	v, id := &s.master[i], s.id[i]
	if v.lock == 0 {
		return
	}
	k := v.lock - 1
	a := &s.attempt[k]
	if a.done || a.token == 0 || a.votes[id] == 0 || a.atToken.has(id) {
		return
	}
	if m.Confirm == 1 && !m.executes(s, i, a.version) && !(m.Round == 0 && m.mayVote(s, i)) {
		return
	}
	next := *s
	next.master[i].counter = max(v.counter, a.token)
	next.attempt[k].atToken |= one(id)
	m.settle(&next, int(k))
	to(&next, move{confirm, k, i, a.token})
}

func (m *tokens) quorum(s *tokensState, version uint8, some ids) bool {
	t := s.ballot[version].table
	if m.Quorum == 0 {
		return some.majorityOf(t.voting)
	}
	return some.len() >= t.members().majority()
}

// settle makes attempt k complete if a quorum stands at its token. Then settle drops the part of the attempt's
// state that no later step reads.
func (m *tokens) settle(s *tokensState, k int) {
	a := &s.attempt[k]
	if !m.quorum(s, a.version, a.atToken) {
		return
	}
	*a = attempt{version: a.version, token: a.token, floor: a.floor, done: true}
	s.highest = max(s.highest, a.token)
	for i := range s.master {
		if m.Reenter == 0 && s.master[i].lock == uint8(k+1) {
			s.master[i].lock = 0
		}
	}
}

// reenters reports whether a quorum of some version has the grant of attempt k.
func (m *tokens) reenters(s *tokensState, k uint8) bool {
	for b := uint8(1); b <= uint8(m.Ballots); b++ {
		var has ids
		for i := range m.servers() {
			if v := &s.master[i]; v.accepted == b && v.lock == k+1 && m.mayVote(s, i) {
				has |= one(s.id[i])
			}
		}
		if has != 0 && m.quorum(s, b, has) {
			return true
		}
	}
	return false
}

func (m *tokens) broken(s *tokensState) string {
	for k := range s.attempt {
		a := &s.attempt[k]
		if !a.done {
			continue
		}
		if a.token <= a.floor {
			return fmt.Sprintf("attempt %d is complete with token %d, and token %d was before it began", k, a.token, a.floor)
		}
		if a.token < s.highest && m.reenters(s, uint8(k)) {
			return fmt.Sprintf("attempt %d, with token %d, can be re-entered when token %d is complete", k, a.token, s.highest)
		}
		for j := range k {
			if s.attempt[j].done && s.attempt[j].token == a.token {
				return fmt.Sprintf("attempts %d and %d are both complete with token %d", j, k, a.token)
			}
		}
	}
	var before uint8
	for b := uint8(1); b <= uint8(m.Ballots); b++ {
		if !m.committed(s, b) {
			continue
		}
		t := s.ballot[b].table
		if s.losses == 0 && !t.voting.majorityOf(t.members()) {
			return fmt.Sprintf("version %d is committed, and no quorum may vote", b)
		}
		from := b
		for from > before {
			from = s.ballot[from].base
		}
		if before != 0 && from != before {
			return fmt.Sprintf("versions %d and %d are committed, and the second was not made from the first", before, b)
		}
		before = b
	}
	for i := range m.servers() {
		if m.Attempts == 0 && m.forgot(s, i) {
			return fmt.Sprintf("%s has its id, and forgot what it did when it was not durable", name(i))
		}
		if v := &s.master[i]; v.learned && !m.committed(s, v.accepted) {
			return fmt.Sprintf("%s carries the mark that version %d is committed, and it is not", name(i), v.accepted)
		}
	}
	return ""
}

// forgot reports whether server i, under its present id, accepted a table by which it is not
// durable, and does not have this table any more.
func (m *tokens) forgot(s *tokensState, i uint8) bool {
	for b := s.master[i].accepted + 1; b <= uint8(m.Ballots); b++ {
		if v := &s.ballot[b]; !s.out.has(i) && (v.accepted & v.table.volatile).has(s.id[i]) {
			return true
		}
	}
	return false
}

func (m *tokens) event(s *tokensState, by move) string {
	at := func(i uint8) string { return fmt.Sprintf("%s, at version %d,", name(i), s.master[i].accepted) }
	counter := func(i uint8) uint8 { return s.master[i].counter }
	switch by.kind {
	case promise:
		return fmt.Sprintf("%s promises ballot %d, and answers version %d", name(by.b), by.a, by.c)
	case decide:
		b := &s.ballot[by.a]
		return fmt.Sprintf("ballot %d decides, on version %d: %s", by.a, b.base, m.describe(&s.fleet, by.b, by.c, b.table))
	case takeTable:
		return fmt.Sprintf("%s accepts version %d%s", name(by.b), by.a, when(m.committed(s, by.a), ": it is committed"))
	case push:
		return fmt.Sprintf("version %d is pushed to %s%s", by.a, name(by.b), when(m.committed(s, by.a), ": it is committed"))
	case learn:
		return fmt.Sprintf("%s learns that version %d is committed", name(by.a), by.b)
	case lose:
		return fmt.Sprintf("%s comes back with counter %d, as %s", name(by.a), counter(by.a), m.nameOf(&s.fleet, s.id[by.a]))
	case grant:
		return fmt.Sprintf("attempt %d, of version %d: %s grants %d", by.a, by.c, at(by.b), counter(by.b))
	case ghost:
		return fmt.Sprintf("%s grants %d, and no attempt counts it", name(by.a), counter(by.a))
	case choose:
		return fmt.Sprintf("attempt %d has a quorum of votes, token %d%s", by.a, by.b, when(s.attempt[by.a].done, ": it is complete"))
	case confirm:
		return fmt.Sprintf("attempt %d: %s confirms %d%s", by.a, at(by.b), by.c, when(s.attempt[by.a].done, ": it is complete"))
	case read:
		return fmt.Sprintf("the counter of %s is read for %s: %d", at(by.b), name(by.a), counter(by.b))
	case readFloor:
		return fmt.Sprintf("before a removal, the counter of %s is read at version %d: %d", name(by.a), by.b, counter(by.a))
	case stop, mend, restart, report, adopt:
		return describeDurability(by.kind, by.a, by.b)
	default:
		return fmt.Sprintf("before a removal, the counter of %s is raised at version %d to %d", name(by.a), by.b, counter(by.a))
	}
}
