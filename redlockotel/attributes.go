package redlockotel

import (
	"net"
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/telemetry"
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
		return outcomeKey.String(telemetry.ErrorType(r.Err))
	case r.ReEntry:
		return outcomeKey.String("re-entered")
	}
	return outcomeKey.String("acquired")
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
