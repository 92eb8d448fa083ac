package harness

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/direct"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// RunBatch runs calls on a master, without the library, in one batch. source is the text of the script.
func RunBatch(source string, r *redis.Client, calls ...script.Call) ([]any, error) {
	header, err := direct.Header(context.Background(), r, limits.DefaultPrefix)
	if err != nil {
		return nil, err
	}
	return direct.Run(context.Background(), r, "eval", source, limits.DefaultPrefix, header, calls...)
}

// CallIn runs one call like RunBatch, and parses the reply as a vote.
func CallIn(source string, r *redis.Client, c script.Call) (script.Vote, error) {
	replies, err := RunBatch(source, r, c)
	if err != nil {
		return script.Vote{Answer: script.Refused, Err: err}, err
	}
	if reply, ok := replies[0].(int64); ok {
		return c.Read(reply), nil
	}
	err = Replied(replies[0].(string))
	return script.Vote{Answer: script.Refused, Err: err}, err
}

// Replied is an error in the reply of an operation.
type Replied string

func (e Replied) Error() string { return string(e) }
func (Replied) RedisError()     {}
