// Package telemetry measures a redlock.Client, without a metrics library. An exporter adds the library: module
// redlockotel for OpenTelemetry, the agent for Prometheus, or an exporter of yours.
package telemetry

import (
	"context"
	"errors"
	"net"

	"github.com/redlock-go/redlock"
)

// The upper bounds of the buckets of histograms, in seconds: for a few round trips, for waits, for holds.
var (
	TripBounds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1}
	WaitBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	HoldBounds = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 1800, 3600, 21600, 86400}
)

// ErrorType returns one of a few words for an error. If several words fit, the reason why the lock was not acquired
// has precedence over the end of the wait, and ErrHeld and ErrTooSlow have precedence over ErrDenied, because one
// master can deny a right even if the other masters decide. If the caller returned before the masters had decided,
// the word is "canceled" or "timeout", whatever the cause of the caller's context.
func ErrorType(err error) string {
	if q, ok := errors.AsType[*redlock.QuorumError](err); ok {
		switch {
		case errors.Is(q.Reason, context.Canceled):
			return "canceled"
		case errors.Is(q.Reason, context.DeadlineExceeded):
			return "timeout"
		}
	}
	for _, c := range []struct {
		is   error
		word string
	}{
		{redlock.ErrBadOption, "bad_option"},
		{redlock.ErrUpgrade, "upgrade"},
		{redlock.ErrReentry, "reentry"},
		{redlock.ErrLost, "lost"},
		{redlock.ErrExpired, "expired"},
		{redlock.ErrReleased, "released"},
		{redlock.ErrNeedsInit, "needs_init"},
		{redlock.ErrHeld, "held"},
		{redlock.ErrTooSlow, "too_slow"},
		{redlock.ErrDenied, "denied"},
		{redlock.ErrNoQuorum, "no_quorum"},
		{redlock.ErrClosed, "closed"},
		{context.DeadlineExceeded, "timeout"},
		{context.Canceled, "canceled"},
	} {
		if errors.Is(err, c.is) {
			return c.word
		}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "timeout"
	}
	return "_OTHER"
}
