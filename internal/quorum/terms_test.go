package quorum

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

func TestTerms(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		claim      string
		ttl, delay time.Duration
		factor     float64
		drift      time.Duration
		valid, key time.Duration
	}{
		{"30 s lose 302 ms to drift", 30 * time.Second, 0, 0.01, 302 * ms, 29698 * ms, 30 * time.Second},
		{"no factor leaves the 2 ms", time.Second, 0, 0, 2 * ms, 998 * ms, time.Second},
		{"lock delay is the masters' alone", time.Second, 5 * time.Second, 0.01, 12 * ms, 988 * ms, 6 * time.Second},
	} {
		got := TermsOf(c.ttl, c.delay, c.factor)
		if got.Drift != c.drift || got.KeyTTL() != c.key {
			t.Errorf("%s: drift %v, key ttl %v; want %v, %v", c.claim, got.Drift, got.KeyTTL(), c.drift, c.key)
		}
		if valid := got.ValidUntil(1000).Sub(1000); valid != c.valid {
			t.Errorf("%s: valid for %v, want %v", c.claim, valid, c.valid)
		}
	}
}

func TestJump(t *testing.T) {
	const s = time.Second
	// A key of 30 s, set by a request that was sent at 100 s and answered at 101 s: it expires
	// between 130 s and 131 s.
	at := func(d time.Duration) clock.Instant { return clock.Instant(d) }
	e := ExpiryAfter(at(100*s), at(101*s), 30*s)
	for _, c := range []struct {
		claim     string
		remaining time.Duration
		sent, got time.Duration
		want      time.Duration
	}{
		{"as it should be", 20 * s, 110 * s, 110 * s, 0},
		{"served late in the first request", 21 * s, 110 * s, 110 * s, 0},
		{"served late in this one", 15 * s, 110 * s, 115 * s, 0},
		{"within the drift allowance", 19900 * time.Millisecond, 110 * s, 110 * s, 0},
		{"forward by ten seconds", 10 * s, 110 * s, 110 * s, 10*s - 300*time.Millisecond},
		{"back by an hour", 3620 * s, 110 * s, 110 * s, -(3599*s - 300*time.Millisecond)},
	} {
		if got := e.Jump(c.remaining, at(c.sent), at(c.got), 300*time.Millisecond); got != c.want {
			t.Errorf("%s: %v, want %v", c.claim, got, c.want)
		}
	}
}
