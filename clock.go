package redlock

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/quorum"
)

// WithTTL sets how long a lease lasts when it is not renewed. ttl is truncated to milliseconds. It
// must be at least 50 ms, above the request timeout, and together with the lock delay at most the
// max ttl. Default 30 s, or the max ttl less the lock delay if that is shorter.
//
// When the release of another client grants the lock to a waiting call, the first lease is at most
// a second long, whatever the ttl. The first renewal follows 50 ms after the grant. If no renewal
// succeeds before the first lease ends, the hold ends.
func WithTTL(ttl time.Duration) LockOption {
	return lockOption(func(o *acquire.Options) { o.TTL, o.Given.TTL = ttl, true })
}

// WithMaxTTL sets the largest sum of ttl and lock delay that this client uses, and that admin.Init gives to a new
// deployment. A server that takes the place of a member votes only when the deployment's max ttl has passed. If d is
// above the deployment's max ttl, calls return an error that names both. Default one minute. Without this option, a
// client uses the deployment's max ttl if that is shorter than a minute.
func WithMaxTTL(d time.Duration) Option {
	return clientOption(func(c *config) { c.maxTTL, c.maxTTLGiven = d, true })
}

// WithDrift sets the share of a ttl by which a master's clock may run ahead of this process's clock; 2 ms are always
// added. admin.Init gives this share to a new deployment. If a client's drift is below the deployment's, its calls
// return an error. factor must be at least 0 and below 1. Default: the deployment's drift, or 0.01 for admin.Init.
func WithDrift(factor float64) Option {
	return clientOption(func(c *config) { c.drift, c.driftGiven = factor, true })
}

// leastTTL returns the shortest ttl that the bounds allow if the drift allowance is 0.
func (b *bounds) leastTTL() time.Duration {
	return max(limits.MinTTL, (b.requestTimeout + time.Millisecond).Truncate(time.Millisecond))
}

// noDefaultTTL returns the error for settings that allow no default ttl. The error names one of
// these settings, and not the ttl, because the caller gave no ttl.
func (b *bounds) noDefaultTTL(ttl, delay time.Duration) error {
	least := b.leastTTL()
	switch {
	case least > limits.DefaultTTL, b.requestTimeout > limits.DefaultRequestTimeout && least > b.maxTTL:
		return &OptionError{"request timeout", b.requestTimeout, fmt.Sprintf("must be below the ttl, which is %v by default (the max ttl is %v)", min(limits.DefaultTTL, b.maxTTL), b.maxTTL)}
	case least > b.maxTTL:
		return &OptionError{"max ttl", b.maxTTL, fmt.Sprintf("must be above the request timeout (%v), as every ttl", b.requestTimeout)}
	case ttl < least:
		return &OptionError{"lock delay", delay, fmt.Sprintf("must be at most %v, so that a ttl of %v or more is left of the max ttl (%v)", b.maxTTL-least, least, b.maxTTL)}
	}
	return &OptionError{"drift", b.drift, fmt.Sprintf("must be lower: its allowance leaves too little of the ttl (%v by default)", ttl)}
}

// validateTTL returns an error if the bounds do not allow the given ttl. It ignores fractions of a millisecond.
func (b *bounds) validateTTL(given, delay time.Duration) error {
	ttl := given.Truncate(time.Millisecond)
	t := quorum.TermsOf(ttl, delay, b.drift)
	var rule string
	switch {
	case ttl < limits.MinTTL:
		rule = fmt.Sprintf("must be at least %v", limits.MinTTL)
	case ttl <= b.requestTimeout:
		rule = fmt.Sprintf("must be above the request timeout (%v)", b.requestTimeout)
	case t.KeyTTL() > b.maxTTL || t.KeyTTL() < ttl:
		whose := "the max ttl"
		if b.deployments {
			whose = "the deployment's max ttl"
		}
		rule = fmt.Sprintf("must be at most %s (%v) less the lock delay (%v)", whose, b.maxTTL, delay)
	case ttl-t.Drift < 2*t.MinLeft():
		rule = fmt.Sprintf("must be longer, or the drift (%v) lower: the drift allowance (%v) leaves too little of it", b.drift, t.Drift)
	default:
		return nil
	}
	return &OptionError{"ttl", given, rule}
}

// ClockJump is a jump of a master's clock.
type ClockJump struct {
	Hold                 // the hold to be renewed
	Master string        // its address
	By     time.Duration // how far forward; negative: back
}
