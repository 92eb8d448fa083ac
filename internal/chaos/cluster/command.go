package cluster

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// do sends one command to the server on addr, on a new connection.
func do(ctx context.Context, addr string, args ...any) (any, error) {
	c := redis.NewClient(&redis.Options{
		Addr:                  addr,
		Protocol:              2,
		DisableIdentity:       true,
		MaxRetries:            -1,
		DialerRetries:         1,
		ReadTimeout:           commandTimeout,
		WriteTimeout:          commandTimeout,
		ContextTimeoutEnabled: true,
	})
	defer c.Close()
	return c.Do(ctx, args...).Result()
}

// commandTimeout bounds commands whose context has no deadline.
const commandTimeout = 10 * time.Second

// serves reports whether the server on addr answers, and has loaded its data.
func serves(addr string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	_, err := do(ctx, addr, "ping")
	return err == nil
}
