package faultproxy

import (
	"testing"
	"time"
)

func TestHoldRequest(t *testing.T) {
	p, m, u := setup(t)
	f := p.Add(Rule{On: Match("set"), Nth: 1, Do: HoldRequest})
	u.sends("set a", "get a")
	closed(t, "Seen", f.Seen())
	u.seesSilence()

	other := dial(t, p.Addr())
	other.does("get b", "set b") // not the first one any more
	m.gets("get b", "set b")
	m.getsNothing()
	open(t, "Answered before Release", f.Answered())

	f.Release()
	u.gets("set a", "get a")
	m.gets("set a", "get a")
	closed(t, "Answered", f.Answered())
	if f.Hits() != 1 {
		t.Errorf("%d hits", f.Hits())
	}
}

func TestHeldRequestOutlivesItsClient(t *testing.T) {
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

func TestHeldRequestOutlivesItsConnections(t *testing.T) {
	for name, cut := range map[string]func(p *Proxy, m *master, u *user){
		"the master restarts": func(_ *Proxy, m *master, u *user) {
			addr := m.addr
			m.stop()
			if _, err := u.read(patience); err == nil {
				u.t.Error("the client does not see the end of the master")
			}
			m.listen(addr)
		},
		"both sides are cut": func(p *Proxy, _ *master, u *user) {
			p.CutAll()
			u.seesReset("")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, m, u := setup(t)
			u.does("hello")
			m.gets("hello")
			f := p.Add(Rule{On: Match("set"), Do: HoldRequest})
			u.sends("set a")
			closed(t, "Seen", f.Seen())
			cut(p, m, u)
			m.getsNothing()
			f.Release()
			m.gets("set a")
			closed(t, "Answered", f.Answered())
			dial(t, p.Addr()).does("get b")
		})
	}
}

func TestHoldReply(t *testing.T) {
	p, m, u := setup(t)
	f := p.Add(Rule{On: Match("set"), Do: HoldReply})
	u.sends("get a", "set a", "get b")
	u.gets("get a")
	m.gets("get a", "set a", "get b")
	closed(t, "Seen", f.Seen())
	closed(t, "Answered", f.Answered())
	u.seesSilence()
	f.Release()
	u.gets("set a", "get b")
}

func TestPushedDataIsNoReply(t *testing.T) {
	p, _, u := setup(t)
	f := p.Add(Rule{On: Match("push"), Do: HoldReply})
	u.sends("push a")
	u.gets(">1", "pushed")
	closed(t, "Seen", f.Seen())
	u.seesSilence()
	f.Release()
	u.gets("push a")
}

func TestRepliesOfSubscribersAreLeftAlone(t *testing.T) {
	p, _, u := setup(t)
	f := p.Add(Rule{On: Match("ping"), Do: HoldReply})
	u.does("get a", "Subscribe a", "ping")
	if f.Hits() != 0 {
		t.Errorf("%d hits", f.Hits())
	}
}

func TestReleaseIsForWhatIsHeldNow(t *testing.T) {
	p, _, u := setup(t)
	f := p.Add(Rule{On: Match("set"), Do: HoldRequest})
	u.sends("set a")
	closed(t, "Seen", f.Seen())
	f.Release()
	u.gets("set a")

	u.sends("set b")
	u.seesSilence()
	f.Remove()
	u.gets("set b")
	u.does("set c")
	if f.Hits() != 2 {
		t.Errorf("%d hits", f.Hits())
	}
}

func TestDropRequest(t *testing.T) {
	p, m, u := setup(t)
	f := p.Add(Rule{On: Match("set"), Do: DropRequest})
	u.sends("get a", "set a", "get b")
	u.gets("get a")
	closed(t, "Seen", f.Seen())
	f.Remove()
	u.sends("get c")
	u.seesSilence()
	m.gets("get a")
	m.getsNothing()
	dial(t, p.Addr()).does("set a")
}

func TestDropReply(t *testing.T) {
	p, m, u := setup(t)
	f := p.Add(Rule{On: Match("set"), Do: DropReply})
	u.sends("get a", "set a", "get b")
	u.gets("get a")
	closed(t, "Seen", f.Seen())
	u.sends("get c")
	m.gets("get a", "set a", "get b", "get c")
	u.seesSilence()
	m.stop() // of this the client hears nothing either
	u.seesSilence()
}

func TestDuplicateRequest(t *testing.T) {
	p, m, u := setup(t)
	f := p.Add(Rule{On: Match("set"), Do: DuplicateRequest})
	u.does("get a", "set a", "get b")
	m.gets("get a", "set a", "set a", "get b")
	u.seesSilence()
	if n := p.Count(Match("set")); n != 2 || f.Hits() != 1 {
		t.Errorf("%d requests, %d hits", n, f.Hits())
	}
}

func TestCopyRequest(t *testing.T) {
	p, m, u := setup(t)
	f := p.Add(Rule{On: Match("set"), Do: CopyRequest(10 * time.Millisecond)})
	u.does("get a", "set a")
	m.gets("get a", "set a", "set a")
	u.does("get b")
	m.gets("get b")
	u.seesSilence()
	if n := p.Count(Match("set")); n != 2 || f.Hits() != 1 {
		t.Errorf("%d requests, %d hits", n, f.Hits())
	}
}

func TestACopyIsLate(t *testing.T) {
	p, m, u := setup(t)
	p.Add(Rule{On: Match("set"), Do: CopyRequest(time.Hour)})
	u.does("set a", "get b")
	m.gets("set a", "get b")
	p.Close() // nor does the proxy wait for it
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
		{CutReplyAt(4), "set", true}, // the + before it is the first byte
	} {
		t.Run(string(c.do), func(t *testing.T) {
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
			passed := 1
			if c.arrives {
				passed = 2
			}
			if n := p.Count(Match("set")); n != passed {
				t.Errorf("%d requests passed, want %d", n, passed)
			}
		})
	}
}

// The master answers within microseconds: many tries, to see the reply win a race that it must not
// take part in.
func TestNoReplyIsFasterThanACut(t *testing.T) {
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

// What is behind a cut on the same connection is lost, even when the proxy has read it already.
func TestNothingPassesBehindACut(t *testing.T) {
	p, m, u := setup(t)
	p.Add(Rule{On: Match("set"), Do: CutAfterRequest})
	u.sends("set a", "get b")
	u.seesReset("")
	m.gets("set a")
	m.getsNothing()
}

func TestDelay(t *testing.T) {
	const wait = 80 * time.Millisecond
	for _, do := range []Action{DelayRequest(wait), DelayReply(wait)} {
		t.Run(string(do), func(t *testing.T) {
			p, _, u := setup(t)
			f := p.Add(Rule{On: Match("set"), Do: do})
			begin := time.Now()
			u.sends("get a", "set a", "get b")
			u.gets("get a")
			closed(t, "Seen", f.Seen())
			u.gets("set a", "get b")
			if took := time.Since(begin); took < wait {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestRulesActTogether(t *testing.T) {
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

func TestInvalidRulePanics(t *testing.T) {
	p, _, _ := setup(t)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	p.Add(Rule{Do: "vanish"})
}
