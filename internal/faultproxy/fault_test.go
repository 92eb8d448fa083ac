package faultproxy

import (
	"testing"
	"time"
)

// Each fault hits the second of three requests. A case lists the requests that the master gets and the replies that the
// client gets, at once and after the fault is removed.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		do             Action
		master, client []string
		later          []string // at the master and the client
	}{
		{Pass, []string{"get a", "set a", "get b"}, []string{"get a", "set a", "get b"}, nil},
		{HoldRequest, []string{"get a"}, []string{"get a"}, []string{"set a", "get b"}},
		{DropRequest, []string{"get a"}, []string{"get a"}, nil},
		{DuplicateRequest, []string{"get a", "set a", "set a", "get b"}, []string{"get a", "set a", "get b"}, nil},
		{HoldReply, []string{"get a", "set a", "get b"}, []string{"get a"}, []string{"set a", "get b"}},
		{DropReply, []string{"get a", "set a", "get b"}, []string{"get a"}, nil},
		{CopyRequest(100 * time.Millisecond), []string{"get a", "set a", "get b", "set a"}, []string{"get a", "set a", "get b"}, nil},
	} {
		t.Run(c.do.String(), func(t *testing.T) {
			p, m, u := setup(t)
			f := p.Add(Rule{On: Match("set"), Nth: 1, Do: c.do})
			u.sends("get a", "set a", "get b")
			u.gets(c.client...)
			closed(t, "Seen", f.Seen())
			m.gets(c.master...)
			m.getsNothing()
			u.seesSilence()
			dial(t, p.Addr()).does("set other") // the rule acts only on the first set
			m.gets("set other")
			f.Remove()
			u.gets(c.later...)
			if c.do == HoldRequest {
				m.gets(c.later...)
			}
			u.seesSilence()
			if f.Hits() != 1 {
				t.Errorf("%d hits", f.Hits())
			}
		})
	}
}

func TestHeldRequestOutlivesClient(t *testing.T) {
	p, m, u := setup(t)
	u.does("hello")
	f := p.Add(Rule{On: Match("set"), Do: HoldRequest})
	u.sends("set a", "get a")
	closed(t, "Seen", f.Seen())
	check(t, u.conn.Close())
	m.gets("hello")
	m.getsNothing()
	f.Release()
	m.gets("set a", "get a")
	closed(t, "Answered", f.Answered())
}

func TestHeldRequestOutlivesConnections(t *testing.T) {
	p, m, u := setup(t)
	u.does("hello")
	m.gets("hello")
	f := p.Add(Rule{On: Match("set"), Do: HoldRequest})
	u.sends("set a")
	closed(t, "Seen", f.Seen())
	addr := m.addr
	m.stop()
	if _, err := u.read(patience); err == nil {
		t.Error("the client does not see the end of the master")
	}
	m.listen(addr)
	m.getsNothing()
	f.Release()
	m.gets("set a")
	closed(t, "Answered", f.Answered())
	dial(t, p.Addr()).does("get b")
}

func TestPushIsNotReply(t *testing.T) {
	p, _, u := setup(t)
	f := p.Add(Rule{On: Match("push"), Do: HoldReply})
	u.sends("push a")
	u.gets(">1", "pushed")
	closed(t, "Seen", f.Seen())
	u.seesSilence()
	f.Release()
	u.gets("push a")
}

func TestSubscriberRepliesPass(t *testing.T) {
	p, _, u := setup(t)
	f := p.Add(Rule{On: Match("ping"), Do: HoldReply})
	u.does("get a", "Subscribe a", "ping")
	if f.Hits() != 0 {
		t.Errorf("%d hits", f.Hits())
	}
}

func TestCuts(t *testing.T) {
	whole := len(encode("set", "a"))
	for _, c := range []struct {
		do        Action
		beginning string
		arrives   bool
	}{
		{CutBeforeRequest, "", false},
		{CutRequestAt(0), "", false},
		{CutRequestAt(whole - 1), "", false},
		{CutRequestAt(whole), "", true},
		{CutAfterRequest, "", true},
		{CutReplyAt(0), "", true},
		{CutReplyAt(4), "set", true}, // the first byte is a +
	} {
		t.Run(c.do.String(), func(t *testing.T) {
			p, m, u := setup(t)
			u.does("get a")
			m.gets("get a")
			f := p.Add(Rule{On: Match("set"), Nth: 1, Do: c.do})
			u.sends("set a")
			u.seesReset(c.beginning)
			closed(t, "Seen", f.Seen())
			if c.arrives {
				m.gets("set a")
				closed(t, "Answered", f.Answered())
			}
			m.getsNothing()
			dial(t, p.Addr()).does("set a")
			m.gets("set a")
		})
	}
}

// The master answers within microseconds, so the test makes many tries. In no try may a reply arrive before the cut.
func TestCutBeatsReply(t *testing.T) {
	p, m, _ := setup(t)
	p.Add(Rule{On: Match("set"), Do: CutAfterRequest})
	for range 200 {
		u := dial(t, p.Addr())
		u.sends("set a")
		u.seesReset("")
		check(t, u.conn.Close())
		m.gets("set a")
	}
}

// Requests that follow a cut on the same connection are lost, even if the proxy has already read them.
func TestNothingPassesAfterCut(t *testing.T) {
	p, m, u := setup(t)
	p.Add(Rule{On: Match("set"), Do: CutAfterRequest})
	u.sends("set a", "get b")
	u.seesReset("")
	m.gets("set a")
	m.getsNothing()
}

func TestRulesCombine(t *testing.T) {
	p, m, u := setup(t)
	all := p.Add(Rule{})
	first := p.Add(Rule{On: Match("set"), Nth: 2, Do: HoldRequest})
	twice := p.Add(Rule{On: Match("set"), Nth: 2, Do: DuplicateRequest})
	reply := p.Add(Rule{On: Match("set"), Nth: 2, Do: HoldReply})
	u.does("set a")
	u.sends("set b")
	closed(t, "the hold", first.Seen())
	open(t, "it was duplicated before its release", twice.Seen())
	first.Release()
	closed(t, "the reply", reply.Seen())
	m.gets("set a", "set b", "set b")
	u.seesSilence()
	reply.Release()
	u.gets("set b")
	if all.Hits() != 2 {
		t.Errorf("the rule that passes has seen %d", all.Hits())
	}
}
