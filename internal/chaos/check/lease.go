package check

// leases: a lease ends within its ttl after the request for it was sent. The history does not have the time of that
// request: a request may wait for a connection, a waiter asks again, and the watchdog asks by itself. But the request
// was sent before its answer was recorded, so the rule counts the ttl from the record of the answer.
func leases(r *record, _ Bounds, v *Verdict) {
	for _, name := range r.names {
		for _, h := range r.holds[name] {
			if h.tooLong > 0 {
				v.violate(Lease, h.longAt, "%s: %s knew at %s that its lease %s ends at %s, and had asked for no more than %s",
					name, h.client, seconds(h.longAt), h.with(), seconds(h.tooLong), h.longest)
			}
		}
	}
}
