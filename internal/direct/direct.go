// Package direct runs operations on a master past the library, for tests.
package direct

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/script"
)

// Header returns the header of a batch for a master: its member id, and the version at which it votes. The error is
// redis.Nil if the master does not vote.
func Header(ctx context.Context, r *redis.Client, prefix string) (string, error) {
	return r.HGet(ctx, script.RegisterKey(prefix), "votes").Result()
}

// Run runs calls in one batch, and returns their replies. command is EVAL or EVALSHA, and source is its first argument.
func Run(ctx context.Context, r *redis.Client, command, source, prefix, header string, calls ...script.Call) ([]any, error) {
	words := []any{command, source, 0, script.RegisterKey(prefix)}
	for _, c := range calls {
		words = append(words, c.Keys()...)
	}
	words[2] = len(words) - 3
	words = append(words, header)
	for _, c := range calls {
		words = append(words, c.Args()...)
	}
	return r.Do(ctx, words...).Slice()
}
