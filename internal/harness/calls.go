package harness

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/direct"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// CallIn runs one call on a master, without the library, and parses the reply as a vote.
func CallIn(r *redis.Client, c script.Call) (script.Vote, error) {
	header, err := direct.Header(context.Background(), r, limits.DefaultPrefix)
	if err != nil {
		return script.Vote{}, err
	}
	replies, err := direct.Run(context.Background(), r, "eval", script.BatchSource, limits.DefaultPrefix, header, c)
	if err != nil {
		return script.Vote{}, err
	}
	if reply, ok := replies[0].(int64); ok {
		return c.Read(reply), nil
	}
	return script.Vote{}, replied(replies[0].(string))
}

// replied is an error in the reply of an operation.
type replied string

func (e replied) Error() string { return string(e) }
func (replied) RedisError()     {}
