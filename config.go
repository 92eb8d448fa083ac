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
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// maxDuration bounds the durations that are added to others, which must not overflow.
const maxDuration = script.MaxRemaining

type config struct {
	prefix         string
	drift          float64
	driftGiven     bool // else the deployment's
	requestTimeout time.Duration
	maxTTL         time.Duration
	maxTTLGiven    bool // else the deployment's, if that is shorter
	observer       Observer
	name           string
	lock           lockConfig
	now            func() clock.Instant
}

// lockConfig is the settings of one acquisition.
type lockConfig struct {
	acquire.Options
	maxHoldGiven, atLeastGiven, slotsGiven bool // else there is none
}

// options returns the options of a call that waits, or makes one attempt.
func (l *lockConfig) options(waits bool) acquire.Options {
	o := l.Options
	if !waits {
		o.Wait = 0
	}
	return o
}

func defaultConfig() config {
	return config{
		prefix:         limits.DefaultPrefix,
		drift:          limits.DefaultDrift,
		requestTimeout: limits.DefaultRequestTimeout,
		maxTTL:         limits.DefaultMaxTTL,
		lock: lockConfig{Options: acquire.Options{
			Config: lease.Config{TTL: limits.DefaultTTL, Watchdog: true}, Wait: acquire.Forever, Observer: (*trace)(nil),
		}},
		now: clock.Read,
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

// refusals are what is wrong with options.
type refusals []error

func (r *refusals) refuse(bad bool, field string, value any, rule string) {
	if bad {
		*r = append(*r, &OptionError{field, value, rule})
	}
}

func (c *config) validate() error {
	var errs refusals
	errs.refuse(c.prefix == "" || strings.ContainsAny(c.prefix, "{}"), "prefix", fmt.Sprintf("%q", c.prefix),
		"must not be empty or contain a brace")
	errs.refuse(!(c.drift >= 0 && c.drift < 1), "drift", c.drift, "must be at least 0 and below 1")
	if err := validateProgramName(c.name); err != nil {
		errs = append(errs, err)
	}
	errs.refuse(c.requestTimeout < time.Millisecond, "request timeout", c.requestTimeout, "must be at least 1ms")
	errs.refuse(c.maxTTL < limits.MinTTL || c.maxTTL > maxDuration, "max ttl", c.maxTTL, fmt.Sprintf("must be from %v to %v", limits.MinTTL, maxDuration))
	if len(errs) == 0 {
		errs = append(errs, c.settle(&c.lock))
	}
	return printable.Join(errs...)
}

// settle checks the settings of an acquisition, as given, against each other and against the
// client's. Then it truncates them, and makes the default ttl fit.
func (c *config) settle(l *lockConfig) error {
	delay := max(l.Delay, 0).Truncate(time.Millisecond)
	if !l.TTLGiven {
		l.TTL = min(limits.DefaultTTL, c.maxTTL-delay).Truncate(time.Millisecond)
	}
	err := c.validateLock(*l, delay)
	l.TTL, l.Delay = l.TTL.Truncate(time.Millisecond), delay
	return err
}

func (c *config) validateLock(l lockConfig, delay time.Duration) error {
	var errs refusals
	errs.refuse(l.Delay < 0, "lock delay", l.Delay, "must not be negative")
	errs.refuse(l.maxHoldGiven && (l.MaxHold <= 0 || l.MaxHold > maxDuration), "max hold", l.MaxHold, fmt.Sprintf("must be positive, and at most %v", maxDuration))
	errs.refuse(l.slotsGiven && (l.Slots < 1 || l.Slots > limits.MaxSlots), "slots", l.Slots, fmt.Sprintf("must be 1 to %d", limits.MaxSlots))
	errs = append(errs, c.validateAtLeast(l))
	err := c.validateTTL(l.TTL, delay)
	if err != nil && !l.TTLGiven {
		err = c.noDefaultTTL(l.TTL, l.Delay)
	}
	return printable.Join(append(errs, err)...)
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

// validateLockName checks a name to be locked, with this number of slots or, for 0, without.
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

// CheckOptions returns what Lock and TryLock would refuse of these options, as *OptionErrors,
// joined. Code that gets options long before it locks can refuse them at once. It uses the client's
// own settings, and asks no master. A deployment may allow less, such as a shorter max ttl: only
// the first call that locks returns that error.
func (c *Client) CheckOptions(opts ...LockOption) error {
	c.check(context.Background())
	_, err := c.configWith(opts)
	return err
}

// checkOneHolder is CheckOptions for code that must be the only holder of a name, such as an
// election. It also refuses WithSlots, given here or as the client's default.
func (c *Client) checkOneHolder(opts []LockOption) error {
	c.check(context.Background())
	cfg, err := c.configWith(opts)
	if err == nil && cfg.Slots > 0 {
		err = &OptionError{"slots", cfg.Slots, "must not be set, neither here nor for the client: there can be only one holder"}
	}
	return err
}

// configFor checks the input of an acquisition, and returns the client's settings, changed by opts.
func (c *Client) configFor(name string, opts []LockOption) (lockConfig, error) {
	if len(opts) == 0 {
		return c.config.lock, validateLockName(name, c.config.lock.Slots)
	}
	cfg, err := c.configWith(opts)
	if err != nil {
		return cfg, err
	}
	return cfg, validateLockName(name, cfg.Slots)
}

func (c *Client) configWith(opts []LockOption) (lockConfig, error) {
	cfg := c.config.lock
	for i, o := range opts {
		if o == nil {
			return cfg, &OptionError{fmt.Sprintf("options[%d]", i), nil, "must not be nil"}
		}
		o.applyLock(&cfg)
	}
	err := c.settle(&cfg)
	return cfg, err
}
