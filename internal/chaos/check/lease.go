package check

// leases: no lease lasts longer than its ttl from the moment when it was asked for. That moment is not known exactly,
// because a request may wait for a connection, a waiter asks again, and the watchdog asks by itself. But the moment was
// before the record of the answer, so the rule counts from that record.
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
