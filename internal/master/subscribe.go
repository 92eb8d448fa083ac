package master

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// pingAfter is the silence after which a subscription is tested.
const pingAfter = 2 * time.Second

// Subscribe subscribes to channel on a new connection. It calls subscribed() when the server has confirmed
// the subscription, and message() with every message. It returns when the connection breaks, when ctx
// ends, after a call of Reconnect, when subscribed() returns an error, or if the server does not answer
// within the request timeout. The error is the reason.
func (m *Master) Subscribe(ctx context.Context, channel string, subscribed func() error, message func(payload string)) error {
	epoch := m.health.epoch.Load()
	ctx = untilEnd(ctx)
	sub := m.Subscriber.Subscribe(ctx)
	defer func() { _ = sub.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() }) // ends the read under way
	defer stop()
	if err := withRecover(func() error { return sub.Subscribe(ctx, channel) }); err != nil {
		return m.door.used(err)
	}
	answer := m.Redis.Options().ReadTimeout
	for asked := true; ctx.Err() == nil && epoch == m.health.epoch.Load(); {
		most := pingAfter
		if asked {
			most = answer
		}
		var event any
		err := withRecover(func() (err error) {
			event, err = sub.ReceiveTimeout(ctx, most)
			return err
		})
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() && !asked {
			asked = true
			err = sub.Ping(ctx)
		} else {
			asked = false
		}
		if err == nil || IsReply(err) {
			_ = m.door.used(nil)
		}
		if err != nil {
			return denied(err)
		}
		switch event := event.(type) {
		case *redis.Subscription:
			if err := subscribed(); err != nil {
				return err
			}
		case *redis.Message:
			message(event.Payload)
		}
	}
	return ctx.Err()
}
