package leader

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/printable"
)

const (
	// DefaultPause is how long a candidate pauses after it ended its own term.
	DefaultPause = 2 * time.Second

	// DefaultPoll is how often an elector polls for the leader.
	DefaultPoll = 2 * time.Second

	// MinPoll is the shortest time between two polls.
	MinPoll = 10 * time.Millisecond
)

// Callbacks are functions that an Elector calls at events. Every field may be nil. Elected and
// SteppedDown are called in the goroutine that called Run; the others are called in goroutines of
// their own. They must return soon, and must not call Resign.
type Callbacks struct {
	// Elected: a term begins. It is called before the function.
	Elected func(token fence.Token)

	// SteppedDown: the term is over, its function has returned, and the name is released or was
	// lost. cause is ErrReturned, ErrResigned or ErrPanicked; redlock.ErrLost, ErrExpired or
	// ErrClosed; or the cause of Run's context. The errors of the function and of the release are
	// joined.
	SteppedDown func(token fence.Token, cause error)

	// Overdue: the function has not returned, although its term is over. The argument by is the time since the end of
	// the term. Overdue is called when this time is 1 s, and each time that it has doubled.
	Overdue func(token fence.Token, by time.Duration)

	// NewLeader: a poll found a new term, of any candidate, also of this candidate. The first term
	// that a poll finds is new too. The call comes up to one poll interval (WithPoll) after the call of
	// Elected. A leader that led for less than one interval may be missed. If NewLeader is nil,
	// the masters are not polled.
	NewLeader func(Leader)
}

type config struct {
	lock      []redlock.LockOption
	pause     time.Duration
	poll      time.Duration
	callbacks Callbacks
}

// Option configures an Elector.
type Option func(*config)

// WithLock sets options of the lock by which a candidate leads: WithTTL, after which a leader that
// died is replaced; WithMaxHold, the longest term; WithLockDelay, WithHoldAtLeast, WithFair. They
// are applied after the client's options. New refuses WithSlots, even if it is a default of the
// client, because slots would elect several leaders.
func WithLock(opts ...redlock.LockOption) Option {
	return func(c *config) { c.lock = append(c.lock, opts...) }
}

// WithPause sets for how long a candidate does not campaign after it ended its own term, by Resign
// or because its function returned. So another candidate has time to take over, and the cause of a
// failure has time to pass. After a lost term, the candidate campaigns at once. Another candidate
// that waits takes over at once, however long the pause is. Default DefaultPause; 0 means no pause.
func WithPause(d time.Duration) Option { return func(c *config) { c.pause = d } }

// WithPoll sets how often the masters are polled for the leader, for Callbacks.NewLeader. Default
// DefaultPoll; at least MinPoll.
func WithPoll(d time.Duration) Option { return func(c *config) { c.poll = d } }

// WithCallbacks sets the functions to call at events.
func WithCallbacks(calls Callbacks) Option { return func(c *config) { c.callbacks = calls } }

func newConfig(client *redlock.Client, name string, opts []Option) (config, error) {
	c := config{pause: DefaultPause, poll: DefaultPoll}
	var errs []error
	refuse := func(bad bool, field string, value any, rule string) {
		if bad {
			errs = append(errs, &redlock.OptionError{Field: field, Value: value, Rule: rule})
		}
	}
	for i, o := range opts {
		if o == nil {
			refuse(true, fmt.Sprintf("options[%d]", i), nil, "must not be nil")
			continue
		}
		o(&c)
	}
	refuse(name == "", "name", `""`, "must not be empty")
	refuse(len(name) > limits.MaxNameLen, "name", fmt.Sprintf("of %d bytes", len(name)), fmt.Sprintf("must be at most %d bytes", limits.MaxNameLen))
	refuse(c.pause < 0, "pause", c.pause, "must not be negative")
	refuse(c.poll < MinPoll, "poll", c.poll, fmt.Sprintf("must be at least %v", MinPoll))
	if i := slices.Index(c.lock, nil); i >= 0 {
		refuse(true, fmt.Sprintf("lock options[%d]", i), nil, "must not be nil")
	} else {
		errs = append(errs, client.CheckOptions(append(slices.Clip(c.lock), redlock.WithoutSlots())...))
	}
	if c.callbacks.Elected == nil {
		c.callbacks.Elected = func(fence.Token) {}
	}
	if c.callbacks.SteppedDown == nil {
		c.callbacks.SteppedDown = func(fence.Token, error) {}
	}
	if c.callbacks.Overdue == nil {
		c.callbacks.Overdue = func(fence.Token, time.Duration) {}
	}
	return c, printable.Join(errs...)
}
