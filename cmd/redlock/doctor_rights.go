package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/script"
)

// rights are the rights of the user on one master.
type rights struct {
	user   string
	denied []string // commands that the library needs, but that the user may not run or the server does not have
	err    error    // why denied is not known
}

// neededOutside returns the commands that the library sends outside scripts, with arguments that do no
// harm. A server that runs such a command returns no error except NOSCRIPT. The code NOPERM or ERR
// means that the server does not run the command. (The texts of errors differ between servers.)
func neededOutside(prefix string) [][]any {
	return [][]any{
		{"PING"}, {"INFO", "server"}, {"HGETALL", script.RegisterKey(prefix)}, {"CONFIG", "GET", "appendonly"},
		{"SCRIPT", "LOAD", "return 1"}, {"EVAL", "return 1", "0"}, {"EVALSHA", strings.Repeat("0", 40), "0"},
		{"SUBSCRIBE", prefix + ":waits:doctor"}, {"PUBLISH", prefix + ":waits:doctor", ""},
	}
}

// refused reports whether err is the reply of a server that does not run a command at all. An error for
// a lack of memory, or for the state of the server, has another code.
func refused(err error) bool {
	reply, is := errors.AsType[redis.Error](err)
	return is && (strings.HasPrefix(reply.Error(), "NOPERM ") || strings.HasPrefix(reply.Error(), "ERR "))
}

// readRights tries the commands that the library needs.
func readRights(ctx context.Context, c *redis.Client, prefix string) (r rights) {
	r.user = userOf(c.Options())
	outside := neededOutside(prefix)
	reply := make([]func() error, len(outside))
	p := c.Pipeline()
	for i, words := range outside {
		reply[i] = func() error { return subscribes(ctx, c, words[1].(string)) }
		if words[0] != "SUBSCRIBE" {
			reply[i] = p.Do(ctx, words...).Err
		}
	}
	_, _ = p.Exec(ctx) // each reply has its error
	evaluates := true
	for i, words := range outside {
		if !refused(reply[i]()) {
			continue
		}
		switch name := words[0].(string); name {
		case "CONFIG", "SCRIPT", "SUBSCRIBE", "PUBLISH":
			r.lack(name + " " + words[1].(string))
		default:
			r.lack(name)
			evaluates = evaluates && name != "EVAL"
		}
	}
	if !evaluates {
		return r
	}
	inside, err := c.Eval(ctx, script.RightsSource, []string{script.RegisterKey(prefix), prefix + ":doctor:" + rand.Text()}).Text()
	switch {
	case refused(err):
		r.lack("the keys " + prefix + ":*")
	case err != nil:
		r.err = err
	case inside != "":
		r.lack(strings.Split(inside, ", ")...)
	}
	return r
}

// userOf returns the user as whom a client logs in.
func userOf(o *redis.Options) string { return cmp.Or(o.Username, "default") }

func (r *rights) lack(names ...string) {
	for _, name := range names {
		if !slices.Contains(r.denied, name) {
			r.denied = append(r.denied, name)
		}
	}
}

// subscribes tries to subscribe to a channel.
func subscribes(ctx context.Context, c *redis.Client, channel string) error {
	subscription := c.Subscribe(ctx, channel)
	_, err := subscription.ReceiveTimeout(ctx, operatorTimeout)
	_ = subscription.Close() // the connection may be broken
	return err
}
