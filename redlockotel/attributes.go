package redlockotel

import (
	"context"
	"errors"
	"net"
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/redlock-go/redlock"
)

// The attributes. error.type, server.address and server.port are those of the semantic conventions,
// in which error.message is deprecated.
const (
	nameKey     = attribute.Key("redlock.lock.name")
	namesKey    = attribute.Key("redlock.lock.names")
	modeKey     = attribute.Key("redlock.lock.mode")
	slotKey     = attribute.Key("redlock.lock.slot")
	slotsKey    = attribute.Key("redlock.lock.slots")
	tokenKey    = attribute.Key("redlock.lock.token")
	waitsKey    = attribute.Key("redlock.call.waits")
	attemptsKey = attribute.Key("redlock.call.attempts")
	outcomeKey  = attribute.Key("redlock.call.outcome")
	causeKey    = attribute.Key("redlock.hold.end")
	renewalsKey = attribute.Key("redlock.hold.renewals")
	jumpKey     = attribute.Key("redlock.clock.jump")
	messageKey  = attribute.Key("redlock.error.message")
	errorKey    = attribute.Key("error.type")
	addressKey  = attribute.Key("server.address")
	portKey     = attribute.Key("server.port")
)

func mode(reads bool) attribute.KeyValue {
	if reads {
		return modeKey.String("read")
	}
	return modeKey.String("write")
}

// outcome is how a call ended, in one of a few words.
func outcome(r redlock.LockResult) attribute.KeyValue {
	switch {
	case r.Err != nil:
		return outcomeKey.String(errorType(r.Err))
	case r.ReEntry:
		return outcomeKey.String("re-entered")
	}
	return outcomeKey.String("acquired")
}

// errorType puts an error in one of a few words. An error may be several: why the lock was not to
// be had tells more than that the patience was over. One master may deny what the others decide:
// ErrHeld and ErrTooSlow come before it. A caller that left before the masters had decided is
// canceled, or its time was over, whatever the cause of its context.
func errorType(err error) string {
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

// server returns the attributes of a master. One behind a socket or Sentinel has no port.
func server(master string) []attribute.KeyValue {
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		return []attribute.KeyValue{addressKey.String(master)}
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return []attribute.KeyValue{addressKey.String(master)}
	}
	return []attribute.KeyValue{addressKey.String(host), portKey.Int(number)}
}
