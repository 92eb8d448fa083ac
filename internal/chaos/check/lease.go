package check

// leases: no lease lasts for longer than its ttl from when it was asked for. Nobody knows when that
// was: a request may wait for a connection, a waiter asks again, and the watchdog asks by itself.
// But it was before its answer was told.
func leases(r *record, _ Bounds, v *Verdict) {
	for _, name := range r.names {
		for _, h := range r.holds[name] {
			if h.tooLong > 0 {
				v.violate(Lease, h.saidAt, "%s: %s knew at %s that its lease %s ends at %s, and had asked for no more than %s",
					name, h.client, seconds(h.saidAt), h.with(), seconds(h.tooLong), h.longest)
			}
		}
	}
}
