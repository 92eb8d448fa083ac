package faultproxy

import "time"

// sendRequests passes the client's requests one after the other through the delay line, the rules and the network to
// the master. After the client is gone, it goes on until all requests are handled.
func (l *link) sendRequests() {
	silent := false
	for {
		req, ok := l.requests.pop(l.p.ctx)
		if !ok || !l.p.sleep(req.due) {
			return
		}
		switch {
		case req.end:
			l.finish(silent)
			return
		case silent || l.isCut():
		default:
			silent = !l.sendOne(req)
		}
		if l.p.ctx.Err() != nil {
			return
		}
	}
}

// finish passes the end of the client's requests to the master.
func (l *link) finish(silent bool) {
	up := l.upstream()
	switch {
	case up == nil:
		l.replies.push(reply{end: true, due: l.p.net.due()})
	case silent || !l.p.net.cross(l.p.ctx, true):
		up.close() // without a proxy, the master would not notice the end, but no client sees the difference
	default:
		up.closeWrite()
	}
}

// plan is the result of the rules for a request.
type plan struct {
	late   bool // the request was held, and goes on even if client and connection are gone
	copies int
	repeat []*Fault   // faults that send a copy later
	bytes  int        // how many bytes of the last copy are sent
	cut    bool       // the client is reset after sending
	after  []*Fault   // faults that count once all is sent
	lost   lossReason // why nothing is sent
}

type lossReason int

const (
	notLost    lossReason = iota
	lostSilent            // no later message of this connection arrives
	lostCut               // the connection was reset, or the proxy closed
)

// sendOne passes a request to the master. It returns false if the request was lost silently: then no
// later request of the connection may arrive either.
func (l *link) sendOne(req request) bool {
	faults := l.p.pick(req.args)
	todo := l.apply(faults, req)
	switch todo.lost {
	case lostSilent:
		return false
	case lostCut:
		return true
	}
	if !l.p.net.cross(l.p.ctx, true) {
		return false
	}
	if l.isCut() && !todo.late {
		return true
	}

	for i := range todo.copies {
		bytes := len(req.raw)
		if i == todo.copies-1 {
			bytes = todo.bytes
		}
		// Even a reply that is faster than the cut must not reach the client.
		l.transmit(req, bytes, todo.late, expectation{faults: faults, swallow: i > 0 || todo.cut})
	}
	for _, f := range todo.repeat {
		f.hit()
		l.p.wg.Go(func() { l.p.sendLater(req, f.rule.Do.wait) })
	}
	if todo.cut {
		l.cutClient()
	}
	for _, f := range todo.after {
		f.hit()
	}
	return true
}

// apply lets the rules act on a request before it is sent. The returned plan has the actions that follow while the
// request is sent and after that.
func (l *link) apply(faults []*Fault, req request) plan {
	todo := plan{copies: 1, bytes: len(req.raw)}
	for _, f := range faults {
		if f.rule.Do.onReply() {
			continue
		}
		switch f.rule.Do.do {
		case pass:
			f.hit()
		case holdRequest:
			if !f.linger() {
				todo.lost = lostCut
				return todo
			}
			todo.late = true
		case dropRequest:
			f.hit()
			todo.lost = lostSilent
			return todo
		case cutBeforeRequest:
			l.cutClient()
			f.hit()
			todo.lost = lostCut
			return todo
		case duplicateRequest:
			todo.copies++
			todo.after = append(todo.after, f)
		case copyRequest:
			todo.repeat = append(todo.repeat, f)
		case cutAfterRequest:
			todo.cut = true
			todo.after = append(todo.after, f)
		case cutRequestAt:
			todo.cut = true
			todo.bytes = min(todo.bytes, f.rule.Do.bytes)
			todo.after = append(todo.after, f)
		}
	}
	return todo
}

// transmit sends the first bytes of a request. If the connection to the master is gone, a late request (one that a rule
// held) gets a new connection. Any other request is lost, and the client notices the end of its connection by itself.
func (l *link) transmit(req request, bytes int, late bool, exp expectation) {
	up := l.upstream()
	if up == nil {
		var err error
		if up, err = l.connect(); err != nil {
			l.cutClient()
			return
		}
	}
	if err := up.send(req, bytes, exp); err == nil || !late {
		return
	}
	if up, err := l.connect(); err == nil {
		_ = up.send(req, bytes, exp) // the second try is the last
	}
}

// sendLater sends a copy of a request after d on a connection of its own, and waits for the answer.
func (p *Proxy) sendLater(req request, d time.Duration) {
	if !p.sleep(time.Now().Add(d)) || !p.net.cross(p.ctx, true) {
		return
	}
	conn, err := p.dial()
	if err != nil {
		return
	}
	up := &upstream{p: p, conn: conn, numbered: true}
	if up.send(req, len(req.raw), expectation{}) == nil {
		up.closeWrite()
	}
	up.readReplies(nil)
}
