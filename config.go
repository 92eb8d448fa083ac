package redlock

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// maxDuration is the longest duration that an option accepts. Sums of such durations do not overflow.
const maxDuration = script.MaxRemaining

type config struct {
	prefix      string
	driftGiven  bool // false: the deployment's drift applies
	maxTTLGiven bool // false: the deployment's max ttl applies if that is shorter than maxTTL
	bounds
	observer observer
	name     string
	defaults acquire.Options // for each call
	now      func() clock.Instant
}

// bounds limit the settings of a call. They are the client's settings, or the deployment's where
// the deployment's are narrower.
type bounds struct {
	requestTimeout time.Duration
	maxTTL         time.Duration
	drift          float64
	deployments    bool // the max ttl is the deployment's
}

func defaultConfig() config {
	return config{
		prefix: limits.DefaultPrefix,
		bounds: bounds{requestTimeout: limits.DefaultRequestTimeout, maxTTL: limits.DefaultMaxTTL, drift: limits.DefaultDrift},
		defaults: acquire.Options{
			Config: lease.Config{TTL: limits.DefaultTTL, Watchdog: true}, Wait: acquire.Forever, Observer: acquire.Silent{},
		},
		observer: observerOf(Observer{}),
		now:      clock.Read,
	}
}

// newConfig applies the options and returns all their faults, joined.
func newConfig(opts []Option) (config, error) {
	c := defaultConfig()
	for i, o := range opts {
		if o == nil {
			return c, &OptionError{fmt.Sprintf("options[%d]", i), nil, "must not be nil"}
		}
		o.applyClient(&c)
	}
	return c, c.validate()
}

type refusals []error

func (r *refusals) refuse(field string, value any, rule string, args ...any) {
	*r = append(*r, &OptionError{field, value, fmt.Sprintf(rule, args...)})
}

func (c *config) validate() (err error) {
	var errs refusals
	if c.prefix == "" || strings.ContainsAny(c.prefix, "{}") {
		errs.refuse("prefix", fmt.Sprintf("%q", c.prefix), "must not be empty or contain a brace")
	}
	if !(c.drift >= 0 && c.drift < 1) {
		errs.refuse("drift", c.drift, "must be at least 0 and below 1")
	}
	if err := validateProgramName(c.name); err != nil {
		errs = append(errs, err)
	}
	if c.requestTimeout < time.Millisecond {
		errs.refuse("request timeout", c.requestTimeout, "must be at least 1ms")
	}
	if c.maxTTL < limits.MinTTL || c.maxTTL > maxDuration {
		errs.refuse("max ttl", c.maxTTL, "must be from %v to %v", limits.MinTTL, maxDuration)
	}
	if len(errs) == 0 {
		c.defaults, err = c.resolve(nil, nil, c.defaults)
	}
	return printable.Join(append(errs, err)...)
}

// within returns the client's bounds, narrowed to the bounds of the deployment in the view v. A
// nil v means that the deployment is not known yet. within returns an error if the deployment does
// not allow the client's settings.
func (c *config) within(v *membership.View) (bounds, error) {
	b := c.bounds
	if v == nil {
		return b, nil
	}
	switch most := v.Table.MaxLease(); {
	case c.maxTTLGiven && c.maxTTL > most:
		return b, &OptionError{"max ttl", c.maxTTL, fmt.Sprintf("must be at most the deployment's (%v)", most)}
	case c.driftGiven && c.drift < v.Table.Drift:
		return b, &OptionError{"drift", c.drift, fmt.Sprintf("must be at least the deployment's (%v)", v.Table.Drift)}
	case most < b.maxTTL:
		b.maxTTL, b.deployments = most, true
	}
	if !c.driftGiven {
		b.drift = v.Table.Drift
	}
	return b, nil
}

// resolve checks the settings of a call, and completes them: it shortens a default ttl that is too
// long, truncates the ttl and the lock delay to milliseconds, and sets the drift. resolve runs
// before a call, with a nil v, and before each attempt, with the newest view. h is the hold that
// the call re-enters, or nil. resolve allocates nothing unless it refuses a setting.
func (c *config) resolve(v *membership.View, h *lease.Hold, o acquire.Options) (acquire.Options, error) {
	b, err := c.within(v)
	if err != nil {
		return o, err
	}
	if h != nil {
		o.Delay = h.Config.Delay
		if o.TTL == c.defaults.TTL { // not given for this call
			o.Given.TTL = false
		}
	}
	var errs refusals
	if o.Delay < 0 {
		errs.refuse("lock delay", o.Delay, "must not be negative")
	}
	if o.Given.MaxHold && (o.MaxHold <= 0 || o.MaxHold > maxDuration) {
		errs.refuse("max hold", o.MaxHold, "must be positive, and at most %v", maxDuration)
	}
	switch {
	case o.Given.Slots && (o.Slots < 1 || o.Slots > limits.MaxSlots):
		errs.refuse("slots", o.Slots, "must be 1 to %d", limits.MaxSlots)
	case o.NoSlots && o.Slots > 0:
		errs.refuse("slots", o.Slots, "must not be set, neither here nor for the client: there can be only one holder")
	case o.Reads && o.Slots > 0:
		errs.refuse("slots", o.Slots, "must not be set for reading: any number of readers hold a name at a time")
	}
	switch {
	case o.Given.AtLeast && (o.AtLeast <= 0 || o.AtLeast > maxDuration):
		errs.refuse("hold at least", o.AtLeast, "must be positive, and at most %v", maxDuration)
	case o.Reads && o.AtLeast > 0:
		errs.refuse("hold at least", o.AtLeast, "must not be set for reading: a name that readers had does not stay taken")
	case o.AtLeast > b.longestAtLeast():
		errs.refuse("hold at least", o.AtLeast, "must be at most %v, which is the max ttl (%v) less the drift allowance", b.longestAtLeast(), b.maxTTL)
	}
	delay := max(o.Delay, 0).Truncate(time.Millisecond)
	if !o.Given.TTL {
		o.TTL = min(o.TTL, b.maxTTL-delay).Truncate(time.Millisecond)
	}
	if err := b.validateTTL(o.TTL, delay); err != nil {
		if !o.Given.TTL {
			err = b.noDefaultTTL(o.TTL, o.Delay)
		}
		errs = append(errs, err)
	}
	o.TTL, o.Delay, o.Drift = o.TTL.Truncate(time.Millisecond), delay, b.drift
	return o, printable.Join(errs...)
}

func validateName(name string) error {
	switch {
	case name == "":
		return &OptionError{"name", `""`, "must not be empty"}
	case len(name) > limits.MaxNameLen:
		return &OptionError{"name", fmt.Sprintf("of %d bytes", len(name)), fmt.Sprintf("must be at most %d bytes", limits.MaxNameLen)}
	}
	return nil
}

// validateLockName checks a name to be locked. For a name without slots, slots is 0.
func validateLockName(name string, slots int) error {
	if err := validateName(name); err != nil {
		return err
	}
	if slots > 0 && len(acquire.SlotName(name, limits.MaxSlots)) > limits.MaxNameLen {
		return &OptionError{"name", fmt.Sprintf("of %d bytes", len(name)), fmt.Sprintf("must be at most %d bytes with slots", limits.MaxNameLen-len(acquire.SlotName("", limits.MaxSlots)))}
	}
	if last := name[len(name)-1]; last < '0' || last > '9' {
		return nil
	}
	if of, slot := acquire.SlotOf(name); slot > 0 {
		return &OptionError{"name", fmt.Sprintf("%q", name), fmt.Sprintf("must not be that of a slot: lock %q with WithSlots", of)}
	}
	return nil
}

// CheckOptions returns the error with which Lock and TryLock would refuse opts: an *OptionError for each refused
// option, joined; or only one, if an option is nil. Code that gets options long before it locks can refuse them at once.
// CheckOptions uses the client's settings, and asks no master. A deployment can have narrower limits, such as a shorter
// max ttl. Only a call that locks checks those.
func (c *Client) CheckOptions(opts ...LockOption) error {
	c.check(context.Background())
	_, err := c.request(opts, mode{})
	return err
}

// request returns the settings of a call: the client's settings, changed by opts and resolved.
func (c *config) request(opts []LockOption, m mode) (o acquire.Options, err error) {
	if o, err = c.with(opts); err != nil {
		return o, err
	}
	o.Reads = m.reads
	if !m.waits {
		o.Wait = 0
	}
	return c.resolve(nil, nil, o)
}

// with returns the client's settings, changed by opts.
func (c *config) with(opts []LockOption) (acquire.Options, error) {
	if len(opts) == 0 {
		return c.defaults, nil // without the allocation that options need
	}
	all := c.defaults
	if !all.Given.TTL {
		all.TTL = limits.DefaultTTL // the client's lock delay may have shortened the default ttl, and opts may have a shorter delay
	}
	for i, o := range opts {
		if o == nil {
			return all, &OptionError{fmt.Sprintf("options[%d]", i), nil, "must not be nil"}
		}
		o.applyLock(&all)
	}
	return all, nil
}
