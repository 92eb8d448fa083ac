package register

import "fmt"

// founding is the model of init. Each run of init has a list of blank servers. It claims all servers of the
// list, and then brings version 1 to them. A run may stop at any step. Any message may come late, and more
// than once.
//
// Promises: no two servers ever have different first tables. While a server keeps its id, it does not forget
// a ballot that it promised to a change of the members. An undisturbed run of init finishes the founding that
// it finds, unless a server of its list is claimed for another list.
type founding struct {
	// All: a run brings version 1 to servers only after all servers of its list have carried its claim. 0:
	// after a majority of these servers have carried it.
	All int `full:"1"`
	// Twice: before a run brings version 1, it asks all servers of the list once more. All must still carry the
	// run's claim, and have the same ids as before. So there was a moment when all carried this claim. 0: the
	// run asks them only once.
	Twice int `full:"1"`
	// Claimed: a server takes a version 1 only while it carries the claim of the run that made this version.
	// 0: the server takes it with any claim.
	Claimed int `full:"1"`
	// Lower: only a claim with a lower deployment id replaces a claim. 0: any claim does.
	Lower int `full:"1"`
	// Taken: a server that took version 1 cannot be claimed again. 0: it can be claimed, and then
	// forgets version 1.
	Taken int `full:"1"`
	// SameList: only a claim with the same list replaces a claim. 0: a claim with any list does.
	SameList int `full:"1"`
	// Member: a server takes version 1 only if its member id is in the table. 0: with any member id.
	Member int `full:"1"`
	// Own: each run claims servers under a deployment id of its own. 0: a run that finds another run's
	// claim may use the deployment id of that claim.
	Own int `full:"1"`
	// Finish: a run that finds version 1 on a server may bring version 1 to servers that carry another claim.
	// 0: only to servers that carry the claim under which version 1 was made.
	Finish int `full:"1"`
	// Kept: a server that is claimed again remembers its promises. 0: it forgets them.
	Kept int `full:"1"`

	Runs   int `bound:"2"` // runs of init
	Lists  int `bound:"1"` // 2: every second run has another list, which shares two servers with the first list
	Losses int `bound:"0"` // times that a server loses all its data
}

const (
	maxServers = 4
	maxRuns    = 3
)

type foundingState struct {
	server [maxServers]blank
	run    [maxRuns + 1]run // from 1 on: 0 means none
	losses uint8
}

type blank struct {
	id    uint8 // its member id, as a number that grows with each loss
	claim uint8 // the run whose claim it carries
	took  uint8 // the run whose table it accepted

	gave, promised bool // gave: under its present id, it promised a ballot to a change of the members; promised: it remembers this promise
}

// run is a run of init. Its deployment id is the number of the run that chose the id.
type run struct {
	deployment uint8
	seen       [maxServers]uint8 // for each server, its id when it replied that it carries the run's claim; 0: no such reply
	again      ids               // the servers that replied this again, after all servers had replied this
}

// list returns the servers in the list of run r.
func (m *founding) list(r uint8) ids {
	if m.Lists == 2 && r%2 == 0 {
		return 0b1110
	}
	return 0b0111
}

func (m *founding) start() (s foundingState) {
	for i := range s.server {
		s.server[i].id = 1
	}
	return s
}

const (
	claims = iota
	noAnswer
	takesOver
	asks
	accepts
	finishes
	promises
	loses
)

func (m *founding) steps(s *foundingState, to func(*foundingState, move)) {
	for r := uint8(1); r <= uint8(m.Runs); r++ {
		for i := range s.server {
			if !m.list(r).has(uint8(i)) {
				continue
			}
			m.claim(s, r, i, to)
			m.ask(s, r, i, to)
			m.take(s, r, i, to)
			m.promise(s, r, i, to)
		}
	}
	for i := range s.server {
		if int(s.losses) < m.Losses {
			next := *s
			next.server[i] = blank{id: s.server[i].id + 1}
			next.losses++
			to(&next, move{loses, uint8(i), 0, 0})
		}
	}
}

// claim lets run r claim server i, under the run's own deployment id. With OWN=0, run r may use the deployment
// id that it finds on the server instead.
func (m *founding) claim(s *foundingState, r uint8, i int, to func(*foundingState, move)) {
	v := s.server[i]
	if v.took != 0 && m.Taken == 1 {
		return
	}
	if m.Own == 0 && s.run[r].deployment == 0 && v.claim != 0 && m.list(v.claim) == m.list(r) {
		next := *s
		next.run[r].deployment = s.run[v.claim].deployment
		next.run[r].seen[i], next.run[r].again = v.id, 0
		to(&next, move{takesOver, r, uint8(i), s.run[v.claim].deployment})
	}
	deployment := s.run[r].deployment
	if deployment == 0 {
		deployment = r
	}
	if v.claim != 0 {
		if m.SameList == 1 && m.list(v.claim) != m.list(r) {
			return
		}
		if m.Lower == 1 && s.run[v.claim].deployment < deployment {
			return
		}
	}
	next := *s
	next.run[r].deployment = deployment
	next.server[i].claim, next.server[i].took = r, 0
	next.server[i].promised = v.promised && m.Kept == 1
	to(&next, move{noAnswer, r, uint8(i), deployment})
	if next.run[r].seen[i] != v.id {
		next.run[r].seen[i], next.run[r].again = v.id, 0
	}
	to(&next, move{claims, r, uint8(i), deployment})
}

// carries reports whether server i carries a claim of run r's deployment.
func (m *founding) carries(s *foundingState, r uint8, i int) bool {
	c := s.server[i].claim
	return c != 0 && s.run[c].deployment == s.run[r].deployment
}

// ask lets run r ask server i once more which claim the server carries.
func (m *founding) ask(s *foundingState, r uint8, i int, to func(*foundingState, move)) {
	it := s.run[r]
	mayAsk := m.Twice == 1 && !it.again.has(uint8(i)) && m.enough(r, it.claimed())
	if !mayAsk || !m.carries(s, r, i) || it.seen[i] != s.server[i].id {
		return
	}
	next := *s
	next.run[r].again |= one(uint8(i))
	to(&next, move{asks, r, uint8(i), 0})
}

// take lets server i take the table of run r. The table comes from run r, or from a run that found it on
// another server.
func (m *founding) take(s *foundingState, r uint8, i int, to func(*foundingState, move)) {
	it := s.run[r]
	if !m.mayTake(s, r, i) {
		return
	}
	next := *s
	next.server[i].claim, next.server[i].took = r, r
	if m.enough(r, it.claimed()) && (m.Twice == 0 || m.enough(r, it.again)) && (m.Claimed == 0 || m.carries(s, r, i)) {
		to(&next, move{accepts, r, uint8(i), 0})
	}
	if m.found(s, r) && (m.Finish == 1 || m.carries(s, r, i)) {
		to(&next, move{finishes, r, uint8(i), 0})
	}
}

// promise lets server i promise a ballot to a client that changes the table of run r. This table lists server
// i, but it is possible that the server has not taken the table yet.
func (m *founding) promise(s *foundingState, r uint8, i int, to func(*foundingState, move)) {
	v := s.server[i]
	if v.gave || s.run[r].seen[i] != v.id || !m.found(s, r) {
		return
	}
	next := *s
	next.server[i].gave, next.server[i].promised = true, true
	to(&next, move{promises, r, uint8(i), 0})
}

// claimed returns the servers that replied that they carry the run's claim.
func (r run) claimed() (some ids) {
	for i, id := range r.seen {
		if id != 0 {
			some |= one(uint8(i))
		}
	}
	return some
}

// enough reports whether a set of servers is the whole list of run r. With ALL=0, a majority of the list is enough.
func (m *founding) enough(r uint8, some ids) bool {
	if m.All == 0 {
		return some.majorityOf(m.list(r))
	}
	return some == m.list(r)
}

// mayTake reports whether server i has no table yet, and is in the table of run r.
func (m *founding) mayTake(s *foundingState, r uint8, i int) bool {
	return s.server[i].took == 0 && (m.Member == 0 || s.run[r].seen[i] == s.server[i].id)
}

// found reports whether a server has the table of run r.
func (m *founding) found(s *foundingState, r uint8) bool {
	for _, v := range s.server {
		if v.took == r {
			return true
		}
	}
	return false
}

// same reports whether runs q and r have the same table for the same deployment.
func (m *founding) same(s *foundingState, q, r uint8) bool {
	return s.run[q].deployment == s.run[r].deployment && s.run[q].seen == s.run[r].seen
}

func (m *founding) broken(s *foundingState) string {
	for i, v := range s.server {
		if v.gave && !v.promised {
			return fmt.Sprintf("%s forgot what it promised", name(uint8(i)))
		}
		for j, w := range s.server[:i] {
			if v.took != 0 && w.took != 0 && !m.same(s, v.took, w.took) {
				return fmt.Sprintf("%s and %s have different first tables", name(uint8(j)), name(uint8(i)))
			}
		}
	}
	for r := uint8(1); r <= uint8(m.Runs); r++ {
		if s.run[r].deployment != 0 && !m.finishable(s, m.list(r)) {
			return "no run of init can finish"
		}
	}
	return ""
}

// finishable reports whether one more run with this list could bring a table to a majority of the list, if no
// other run disturbed it and its deployment id were the lowest. A majority is enough: from there, clients push
// the table to the other servers (R4).
func (m *founding) finishable(s *foundingState, list ids) bool {
	var table uint8
	for i, v := range s.server {
		if !list.has(uint8(i)) {
			continue
		}
		if v.claim != 0 && m.list(v.claim) != list {
			return true // claimed for another list: nothing is promised
		}
		if v.took != 0 {
			table = v.took
		}
	}
	if table == 0 {
		return true // the run claims all servers, and brings its own table
	}
	var has, lost ids
	for i, v := range s.server {
		switch {
		case s.run[table].seen[i] != v.id:
			lost |= one(uint8(i))
		case v.took != 0 && m.same(s, v.took, table):
			has |= one(uint8(i))
		case m.mayTake(s, table, i) && (m.Finish == 1 || m.carries(s, table, i)):
			has |= one(uint8(i))
		}
	}
	return (has&list).len() >= list.majority() || (lost&list).len() >= list.majority()
}

func (m *founding) event(s *foundingState, by move) string {
	server := func(i uint8) string { return fmt.Sprintf("%s (id %d)", name(i), s.server[i].id) }
	switch by.kind {
	case claims:
		return fmt.Sprintf("run %d claims %s for deployment %d", by.a, server(by.b), by.c)
	case noAnswer:
		return fmt.Sprintf("run %d claims %s for deployment %d, and gets no reply", by.a, server(by.b), by.c)
	case takesOver:
		return fmt.Sprintf("run %d goes on with the claim of deployment %d, which it finds on %s", by.a, by.c, server(by.b))
	case asks:
		return fmt.Sprintf("run %d asks %s again: it carries the claim still", by.a, name(by.b))
	case accepts:
		return fmt.Sprintf("%s takes the first table from run %d", name(by.b), by.a)
	case finishes:
		return fmt.Sprintf("%s takes the first table of run %d from a client that found it", name(by.b), by.a)
	case promises:
		return fmt.Sprintf("%s promises a ballot to a change of the table of run %d", name(by.b), by.a)
	default:
		return fmt.Sprintf("%s loses all it has", name(by.a))
	}
}
