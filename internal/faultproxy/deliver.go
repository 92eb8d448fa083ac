package faultproxy

// deliverReplies passes the master's replies one after the other through the delay line, the rules
// and the network to the client. It goes on after the client is gone, because rules on replies still
// count.
func (l *link) deliverReplies() {
	silent := false
	for {
		rep, ok := l.replies.pop(l.p.ctx)
		if !ok || !l.p.sleep(rep.due) {
			return
		}
		switch {
		case silent && rep.end:
			return
		case silent:
		case rep.end:
			l.deliverEnd(rep)
			return
		default:
			silent = !l.deliverOne(rep)
		}
	}
}

// deliverEnd passes the master's close of the connection to the client.
func (l *link) deliverEnd(rep reply) {
	switch {
	case !l.p.net.cross(l.p.ctx, false):
	case rep.failed:
		l.cutClient()
	default:
		_ = l.client.Close()
	}
}

// deliverOne passes a reply to the client. It returns false if this reply and all later replies are lost.
func (l *link) deliverOne(rep reply) bool {
	raw := rep.raw
	var cuts []*Fault
	for _, f := range rep.faults {
		switch f.rule.Do.do {
		case holdReply:
			if !f.linger() {
				return false
			}
		case dropReply:
			f.hit()
			return false
		case cutReplyAt:
			cuts = append(cuts, f)
			raw = raw[:min(len(raw), f.rule.Do.bytes)]
		}
	}
	if !l.p.net.cross(l.p.ctx, false) {
		return false
	}

	_, _ = l.client.Write(raw) // fails if the client is gone, which does not matter
	if len(cuts) > 0 {
		l.cutClient()
	}
	for _, f := range cuts {
		f.hit()
	}
	return true
}
