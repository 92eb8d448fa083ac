package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/script"
)

// rights are what the user of a master may do.
type rights struct {
	user   string   // "": not known
	denied []string // what the library needs, and the user may not
	err    error    // why that is not known
}

// denied reports that a server refused a command because the user may not run it.
func denied(err error) bool {
	return redis.HasErrorPrefix(err, "NOPERM")
}

// neededOutside are the commands that the library sends, with arguments that do no harm.
func neededOutside(prefix, key string) [][]any {
	return [][]any{
		{"PING"}, {"INFO", "server"}, {"HGETALL", script.RegisterKey(prefix)}, {"CONFIG", "GET", "appendonly"},
		{"SCRIPT", "LOAD", "return 1"}, {"EVAL", "return 1", "1", key}, {"EVALSHA", strings.Repeat("0", 40), "1", key},
		{"SUBSCRIBE", prefix + ":waits:doctor"},
	}
}

// neededInScripts are the commands that the scripts call, on a key of their own. The first
// one makes it, for a second at most, and the last ones end it.
func neededInScripts(prefix, key string) [][]any {
	return [][]any{
		{"SET", key, "1", "PX", "1000"}, {"GET", key}, {"MGET", key}, {"EXISTS", key}, {"PTTL", key}, {"INCR", key}, {"APPEND", key, "0"},
		{"MSET", key, "1", key}, // fails: a value is missing. It would take the ttl away
		{"PEXPIRE", key, "1000"},
		{"HGET", key, "f"}, {"HSET", key, "f", "v"}, {"HDEL", key, "f"}, {"HGETALL", key},
		{"ZADD", key, "1", "m"}, {"ZCARD", key}, {"ZRANGE", key, "0", "0"}, {"ZREM", key, "m"}, {"ZREMRANGEBYSCORE", key, "0", "0"}, {"ZSCORE", key, "m"},
		{"TIME"}, {"INFO", "server"}, {"PUBLISH", prefix + ":waits:doctor", ""},
		{"PEXPIREAT", key, "1"}, {"DEL", key},
	}
}

// readRights asks the server what the user may do, or, where that is not allowed, tries.
func readRights(ctx context.Context, c *redis.Client, prefix string) rights {
	key := prefix + ":doctor:" + rand.Text()
	var r rights
	r.user, _ = c.Do(ctx, "ACL", "WHOAMI").Text() // "" if the server has no users
	if r.user == "" || !r.dryRun(ctx, c, prefix, key) {
		r.try(ctx, c, prefix, key)
	}
	return r
}

// dryRun asks the server, which is Redis 7 and lets an administrator ask. It reports whether
// that is so.
func (r *rights) dryRun(ctx context.Context, c *redis.Client, prefix, key string) bool {
	for _, words := range append(neededOutside(prefix, key), neededInScripts(prefix, key)...) {
		verdict, err := c.Do(ctx, append([]any{"ACL", "DRYRUN", r.user}, words...)...).Text()
		if err != nil {
			r.denied = nil
			return false
		}
		if verdict != "OK" {
			r.lacks(words)
		}
	}
	return true
}

// lacks notes what the user may not do.
func (r *rights) lacks(words []any) {
	name := words[0].(string)
	switch name {
	case "CONFIG", "SCRIPT", "SUBSCRIBE", "PUBLISH":
		name += " " + words[1].(string)
	}
	if !slices.Contains(r.denied, name) {
		r.denied = append(r.denied, name)
	}
}

// tryAll calls each of the commands, and returns the places of those that are denied.
const tryAll = `
local denied = {}
for i, words in ipairs(cjson.decode(ARGV[1])) do
  local reply = redis.pcall(unpack(words))
  local why = type(reply) == 'table' and reply.err or ''
  if string.find(why, 'NOPERM', 1, true) or string.find(why, 'user executing the script', 1, true) then
    denied[#denied + 1] = i
    if i == 1 then return denied end -- without the key the others would make it, for good
  end
end
return denied`

// try calls what the library needs.
func (r *rights) try(ctx context.Context, c *redis.Client, prefix, key string) {
	for _, words := range neededOutside(prefix, key) {
		if words[0] == "SUBSCRIBE" {
			subscription := c.Subscribe(ctx, words[1].(string))
			_, err := subscription.ReceiveTimeout(ctx, operatorTimeout)
			_ = subscription.Close() // of a connection that may be broken
			if denied(err) {
				r.lacks(words)
			}
		} else if denied(c.Do(ctx, words...).Err()) {
			r.lacks(words)
		}
	}
	inside := neededInScripts(prefix, key)
	list, err := json.Marshal(inside)
	if err != nil {
		panic(err) // of strings
	}
	places, err := c.Eval(ctx, tryAll, []string{key}, list).Int64Slice()
	switch {
	case denied(err): // EVAL, or the key; told above
	case err != nil:
		r.err = err
	}
	for _, i := range places {
		r.lacks(inside[i-1])
	}
}
