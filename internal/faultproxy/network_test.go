package faultproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestRequestsPassInOrder(t *testing.T) {
	p, m, _ := setup(t)
	all, some := p.Add(Rule{On: Match("incr")}), p.Add(Rule{On: Match("incr", "3-1")})
	var wg sync.WaitGroup
	for i := range 8 {
		u := dial(t, p.Addr())
		wg.Go(func() {
			var texts []string
			for n := range 200 {
				texts = append(texts, fmt.Sprintf("incr %d-%d", i, n))
			}
			u.does(texts...)
		})
	}
	wg.Wait()
	if len(m.got) != 1600 || all.Hits() != 1600 || some.Hits() != 1+10+100 {
		t.Errorf("%d came, and the rules hit %d and %d", len(m.got), all.Hits(), some.Hits())
	}
}

// Lost bytes stay missing from their stream. A connection that was idle works again.
func TestPartition(t *testing.T) {
	for name, toServer := range map[string]bool{"to the server": true, "to the client": false} {
		t.Run(name, func(t *testing.T) {
			p, m, u := setup(t)
			idle := dial(t, p.Addr())
			idle.does("get a")
			m.gets("get a")
			p.Partition(toServer, !toServer)
			u.sends("set a")
			u.seesSilence()
			p.Heal()
			u.sends("set b")
			u.seesSilence()
			if !toServer {
				m.gets("set a", "set b")
			}
			m.getsNothing()
			idle.does("set c")
			dial(t, p.Addr()).does("set d")
			m.gets("set c", "set d")
		})
	}
}

func TestStallDeliversLate(t *testing.T) {
	p, m, u := setup(t)
	u.does("get a")
	m.gets("get a")

	p.Stall(true, false)
	u.sends("set a", "set b")
	gone := dial(t, p.Addr())
	gone.sends("set c")
	check(t, gone.conn.Close())
	m.getsNothing()
	p.Heal()
	u.gets("set a", "set b")
	for range 3 { // across connections there is no order
		<-m.got
	}

	p.Stall(false, true)
	u.sends("set d")
	m.gets("set d")
	u.seesSilence()
	p.Heal()
	u.gets("set d")

	p.Stall(true, true)
	u.sends("set e")
	u.seesSilence()
	p.Partition(true, true) // what was stalled is lost now
	p.Heal()
	u.seesSilence()
	m.getsNothing()
}

func TestDivert(t *testing.T) {
	p, m, u := setup(t)
	theirs := startMaster(t)
	other, err := New(theirs.addr)
	check(t, err)
	t.Cleanup(func() { check(t, other.Close()) })
	u.does("get a")
	m.gets("get a")
	p.Divert(other)
	dial(t, p.Addr()).does("get b")
	theirs.gets("get b")
	u.does("get c")
	m.gets("get c")
	p.Divert(nil)
	dial(t, p.Addr()).does("get d")
	m.gets("get d")
	theirs.getsNothing()
}

func TestRefuse(t *testing.T) {
	p, _, u := setup(t)
	u.does("get a")
	p.Refuse(true)
	if conn, err := net.DialTimeout("tcp", p.Addr(), patience); !errors.Is(err, syscall.ECONNRESET) { // the reset may come even during the dial
		check(t, err)
		refused := user{t: t, conn: conn, r: bufio.NewReader(conn)}
		refused.seesReset("")
		conn.Close()
	}
	u.does("get b")
	p.Refuse(false)
	dial(t, p.Addr()).does("get c")
}

func TestMasterDown(t *testing.T) {
	p, m, u := setup(t)
	u.does("get a")
	addr := m.addr
	m.stop()
	if _, err := u.read(patience); err != io.EOF {
		t.Errorf("a connection whose master ended it: %v, want EOF", err)
	}
	late := dial(t, p.Addr())
	late.sends("get b")
	late.seesReset("")
	m.listen(addr)
	dial(t, p.Addr()).does("get c")
}

func TestClose(t *testing.T) {
	p, _, u := setup(t)
	u.does("get a")
	held := p.Add(Rule{On: Match("set"), Do: HoldRequest})
	back := p.Add(Rule{On: Match("incr"), Do: HoldReply})
	u.sends("set a")
	other := dial(t, p.Addr())
	other.sends("incr a")
	closed(t, "the held request", held.Seen())
	closed(t, "the held reply", back.Seen())
	p.Stall(true, true)
	stalled := dial(t, p.Addr())
	stalled.sends("get b")

	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, u := range []*user{u, other, stalled} {
		if got, err := u.read(patience); err == nil {
			t.Errorf("after Close a client got %q", got)
		}
	}
	held.Release()
	back.Remove()
	p.Heal()
}

// However a connection ends, the proxy must release everything that belongs to it.
func TestLinksAreReleased(t *testing.T) {
	for name, use := range map[string]func(p *Proxy, u *user){
		"unused":       func(*Proxy, *user) {},
		"used":         func(_ *Proxy, u *user) { u.does("get a") },
		"request lost": func(p *Proxy, u *user) { p.Add(Rule{Do: DropRequest}); u.sends("get a"); u.seesSilence() },
		"reply lost":   func(p *Proxy, u *user) { p.Add(Rule{Do: DropReply}); u.sends("get a"); u.seesSilence() },
		"cut after":    func(p *Proxy, u *user) { p.Add(Rule{Do: CutAfterRequest}); u.sends("get a"); u.seesReset("") },
		"cut reply":    func(p *Proxy, u *user) { p.Add(Rule{Do: CutReplyAt(1)}); u.sends("get a"); u.seesReset("") },
		"partition": func(p *Proxy, u *user) {
			u.does("get a")
			p.Partition(true, true)
			u.sends("get a")
			u.seesSilence()
		},
		"broken stream": func(_ *Proxy, u *user) { fmt.Fprint(u.conn, "*1\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			p, _, u := setup(t)
			use(p, u)
			check(t, u.conn.Close())
			for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
				p.mu.Lock()
				conns := len(p.conns)
				p.mu.Unlock()
				if conns == 0 {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("%d connections are left", conns)
				}
			}
		})
	}
}
