package redisguard_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/redisguard"
)

// How does a lock holder change data in Redis, so that it cannot overwrite data of a newer holder?
func Example() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	guard, err := redisguard.New(client)
	if err != nil {
		panic(err)
	}

	// ctx comes from the lock and carries its token.
	rename := func(ctx context.Context, id, name string) error {
		token, ok := fence.FromContext(ctx)
		if !ok {
			return errors.New("rename: no fencing token in the context: is the lock held?")
		}
		resource := "user:" + id
		// Claim before you read, so that no older holder changes the data afterwards.
		if err := guard.Claim(ctx, resource, token); err != nil {
			return err
		}
		old, err := client.HGet(ctx, resource, "name").Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		return guard.HSet(ctx, resource, token, resource, "name", name, "formerly", old)
	}

	err = rename(fence.WithToken(context.Background(), 33), "42", "Ada")
	if errors.Is(err, fence.ErrStale) {
		fmt.Println("somebody else holds the lock by now: stop")
	}
}

// How does a program guard a write for which Guard has no method? With a script, which the server runs together with
// the check.
func ExampleGuard_Run() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	guard, err := redisguard.New(client)
	if err != nil {
		panic(err)
	}
	take := redisguard.NewScript(`
		local stock = tonumber(redis.call('GET', KEYS[1]) or '0')
		if stock < tonumber(ARGV[1]) then
			return redis.error_reply('SOLDOUT')
		end
		return redis.call('DECRBY', KEYS[1], ARGV[1])`)

	ctx := fence.WithToken(context.Background(), 33) // as the lock does
	token, _ := fence.FromContext(ctx)
	left, err := guard.Run(ctx, "apples", token, take, []string{"{apples}:stock"}, 3).Int()
	fmt.Println(left, err)
}
