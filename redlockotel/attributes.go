package redlockotel

import (
	"net"
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/redlock-go/redlock/telemetry"
)

// The attributes error.type, server.address and server.port are from OpenTelemetry's semantic
// conventions. The conventions deprecate error.message, so the message has another name here.
const (
	nameKey     = attribute.Key("redlock.lock.name")
	namesKey    = attribute.Key("redlock.lock.names")
	modeKey     = attribute.Key(telemetry.Mode)
	slotKey     = attribute.Key("redlock.lock.slot")
	slotsKey    = attribute.Key("redlock.lock.slots")
	tokenKey    = attribute.Key("redlock.lock.token")
	waitsKey    = attribute.Key("redlock.call.waits")
	attemptsKey = attribute.Key("redlock.call.attempts")
	outcomeKey  = attribute.Key(telemetry.Outcome)
	causeKey    = attribute.Key(telemetry.End)
	renewalsKey = attribute.Key("redlock.hold.renewals")
	jumpKey     = attribute.Key("redlock.clock.jump")
	messageKey  = attribute.Key("redlock.error.message")
	errorKey    = attribute.Key(telemetry.Error)
	addressKey  = attribute.Key(telemetry.Address)
	portKey     = attribute.Key(telemetry.Port)
)

func mode(reads bool) attribute.KeyValue {
	if reads {
		return modeKey.String("read")
	}
	return modeKey.String("write")
}

// server returns the attributes of a master. A master behind a socket or Sentinel has no port.
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
