package master

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Commands past the queue use their own connections, because they are also sent while no link may be
// used.

// Command is a command to be sent past the queue.
type Command struct {
	words []any
	pairs bool // the reply is keys and values
}

// Text returns a command whose reply is a string.
func Text(words ...any) Command { return Command{words: words} }

// Pairs returns a command whose reply is keys and values, for example CONFIG GET.
func Pairs(words ...any) Command { return Command{words: words, pairs: true} }

// Reply is a server's reply to a command.
type Reply struct {
	text  *redis.StringCmd
	pairs *redis.MapStringStringCmd
}

// Err returns the error that the server replied, or nil. A missing key is no error.
func (r Reply) Err() error {
	var cmd redis.Cmder = r.text
	if r.pairs != nil {
		cmd = r.pairs
	}
	err := cmd.Err()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return denied(err)
}

// Text returns the reply to a text command, or "".
func (r Reply) Text() string { return r.text.Val() }

// Pairs returns the reply to a pairs command, or nil.
func (r Reply) Pairs() map[string]string { return r.pairs.Val() }

// sendTogether sends commands in one round trip, and returns their replies.
func sendTogether(ctx context.Context, on redis.Cmdable, commands []Command) ([]Reply, error) {
	replies := make([]Reply, len(commands))
	err := withRecover(func() error {
		cmds, err := on.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, c := range commands {
				if c.pairs {
					replies[i].pairs = redis.NewMapStringStringCmd(ctx, c.words...)
					_ = p.Process(ctx, replies[i].pairs) // only queues it
				} else {
					replies[i].text = redis.NewStringCmd(ctx, c.words...)
					_ = p.Process(ctx, replies[i].text)
				}
			}
			return nil
		})
		return connErr(cmds, err)
	})
	return replies, denied(err)
}

// connErr returns err, the error of a pipeline, if there are no replies because of it. It returns nil if every command
// has a reply or an error of its own. A server may refuse a password or a database while the connection is set up. Such
// a refusal looks like a reply, but go-redis sets it on none of the commands.
func connErr(cmds []redis.Cmder, err error) error {
	failed := func(c redis.Cmder) bool { return c.Err() != nil }
	if IsReply(err) && slices.ContainsFunc(cmds, failed) {
		return nil
	}
	return err
}

// sideContext returns the context of a call past the queue.
func (m *Master) sideContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, m.SideTimeout)
	stop := context.AfterFunc(m.hurried, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// Hurry ends the commands past the queue, whose results are not needed when the client closes. It prevents further
// commands. The commands under way end within the request timeout, because Hurry limits their reads: go-redis does not
// check a context while it reads. Hurry cannot limit the reads of a failover client.
func (m *Master) Hurry() {
	m.hurry()
	m.door.hurry(m.Redis.Options().ReadTimeout)
}

// Do sends commands past the queue, in one round trip, and returns their replies.
func (m *Master) Do(ctx context.Context, commands ...Command) ([]Reply, error) {
	ctx, cancel := m.sideContext(ctx)
	defer cancel()
	var replies []Reply
	err := m.onceMore(func() (err error) {
		replies, err = sendTogether(ctx, m.side, commands)
		return err
	})
	return replies, err
}

// Scan looks at about count keys. It returns the keys that match the pattern, and the cursor for the next
// call. The first call takes the cursor 0. After the last call, next is 0.
func (m *Master) Scan(ctx context.Context, cursor uint64, pattern string, count int64) (keys []string, next uint64, err error) {
	ctx, cancel := m.sideContext(ctx)
	defer cancel()
	err = m.onceMore(func() error {
		return withRecover(func() (err error) {
			keys, next, err = m.side.Scan(ctx, cursor, pattern, count).Result()
			return err
		})
	})
	return keys, next, denied(err)
}

// onceMore calls send(). If the connection broke, onceMore calls send() once more, because an idle
// connection may have been broken for long. So every command past the queue may be executed twice.
func (m *Master) onceMore(send func() error) error {
	err := send()
	_, noConn := errors.AsType[*dialError](err)
	_, paused := errors.AsType[*pausedError](err)
	if err != nil && !IsReply(err) && !isTimeout(err) && !noConn && !paused {
		err = send()
	}
	return m.door.used(err)
}

// Script is a script to run past the queue.
type Script struct{ script *redis.Script }

// NewScript returns a Script with this source.
func NewScript(source string) Script { return Script{redis.NewScript(source)} }

// Eval runs a script past the queue, for its side effects only.
func (m *Master) Eval(ctx context.Context, s Script, keys []string, args ...any) error {
	return m.evaluated(ctx, s, keys, args, func(*redis.Cmd) error { return nil })
}

// EvalInt runs a script past the queue, and returns the integer that it replied.
func (m *Master) EvalInt(ctx context.Context, s Script, keys []string, args ...any) (n int64, err error) {
	err = m.evaluated(ctx, s, keys, args, func(c *redis.Cmd) (err error) {
		n, err = c.Int64()
		return err
	})
	return n, err
}

// EvalText runs a script past the queue, and returns the string that it replied.
func (m *Master) EvalText(ctx context.Context, s Script, keys []string, args ...any) (text string, err error) {
	err = m.evaluated(ctx, s, keys, args, func(c *redis.Cmd) (err error) {
		text, err = c.Text()
		return err
	})
	return text, err
}

// EvalTexts runs a script past the queue, and returns the strings that it replied.
func (m *Master) EvalTexts(ctx context.Context, s Script, keys []string, args ...any) (texts []string, err error) {
	err = m.evaluated(ctx, s, keys, args, func(c *redis.Cmd) (err error) {
		texts, err = c.StringSlice()
		return err
	})
	return texts, err
}

func (m *Master) evaluated(ctx context.Context, s Script, keys []string, args []any, read func(*redis.Cmd) error) error {
	ctx, cancel := m.sideContext(ctx)
	defer cancel()
	return m.onceMore(func() error {
		return withRecover(func() error {
			cmd := s.script.Run(ctx, m.side, keys, args...)
			if err := cmd.Err(); err != nil {
				return denied(err)
			}
			return read(cmd)
		})
	})
}

// HasPrefix reports whether err is a server's reply that begins with word.
func HasPrefix(err error, word string) bool { return redis.HasErrorPrefix(err, word) }
