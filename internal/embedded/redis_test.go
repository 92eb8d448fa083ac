package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

// both returns a client of an embedded master and one of a real one.
func both(t *testing.T) [2]*redis.Client {
	t.Helper()
	process, err := redisproc.Start(redisproc.Config{})
	testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
	check(t, err)
	t.Cleanup(func() { check(t, process.Stop()) })
	s := New()
	t.Cleanup(s.Close)
	real := redis.NewClient(&redis.Options{Addr: process.Addr(), Protocol: 2, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { check(t, real.Close()) })
	return [2]*redis.Client{client(t, s), real}
}

// said is the reply to a command, as a text. Where replies may differ, it is made the same: in the
// order of keys and the last digits of a ttl.
func said(c *redis.Client, words []any) string {
	reply, err := c.Do(context.Background(), words...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "-" + err.Error()
	}
	switch name, _ := words[0].(string); {
	case strings.EqualFold(name, "KEYS"):
		slices.SortFunc(reply.([]any), func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	case strings.EqualFold(name, "SCAN"):
		if parts, is := reply.([]any); is {
			keys := parts[1].([]any)
			slices.SortFunc(keys, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		}
	case strings.EqualFold(name, "PTTL"):
		if ms, is := reply.(int64); is && ms > 0 {
			reply = (ms + 500_000) / 1_000_000
		}
	}
	return fmt.Sprintf("%#v", reply)
}

// vocabulary is what commands are made of, by what a word stands for. A word of it may be repeated
// or left out.
var vocabulary = map[string][]string{
	"key":     {"a", "b", "{d}:e"},
	"value":   {"", "v", "two words", "line\r\nline", "7", "-3", "007", "9223372036854775807", "1.5", "\x00\xff"},
	"field":   {"f", "g", "h", "i"},
	"integer": {"0", "1", "-1", "2", "-2", "5", "-100", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "+1", "01", "x", ""},
	"score":   {"0", "1", "-1", "1.5", "0.1", "1e3", "inf", "-inf", "1503020000123456", "9007199254740993", "nan", "x", "1e20"},
	"seconds": {"1000000", "2000000", "-1", "0", "x", "9223372036854775807"},
	"ms":      {"1000000000", "2000000000", "-1", "0", "9223372036854775807"},
	"how":     {"NX", "xx", "GET", "KEEPTTL", "foo"},
	"add":     {"NX", "XX", "GT", "LT", "CH", "INCR"},
	"pattern": {"*", "?", "[ab]", "a", "*e", "[^a]"},
	"memory":  {"0", "0", "1", "x"},
}

// grammar is the commands to try: capitals and small words that are no kind of word stand for
// themselves; ? marks what is there or not, and + what is there once or more.
var grammar = []string{
	"DEL key+", "EXISTS key+", "TYPE key", "KEYS pattern", "DBSIZE", "PERSIST key", "EXPIRE key seconds", "PEXPIRE key ms", "PTTL key",
	"SCAN 0 COUNT 100", "SCAN 0 MATCH pattern COUNT 100", "SCAN 0 MATCH", "SCAN x", "SCAN 0 foo 1", "SCAN 0 COUNT 0", "SCAN 0 COUNT x",
	"FLUSHALL", "FLUSHALL value?",
	"GET key", "SET key value", "SET key value how+", "SET key value PX ms", "SET key value how? EX seconds how?", "MGET key+",
	"MSET key value key? value?", "INCR key", "DECR key", "INCRBY key integer", "DECRBY key integer", "APPEND key value", "STRLEN key",
	"HGET key field", "HSET key field value field? value?", "HDEL key field+", "HGETALL key", "HEXISTS key field", "HLEN key",
	"HMGET key field+", "HINCRBY key field integer",
	"ZADD key score field", "ZADD key add+ score field", "ZADD key add? score field score field", "ZREM key field+", "ZCARD key", "ZSCORE key field",
	"ZRANGE key integer integer", "ZRANGE key integer integer WITHSCORES", "ZRANGE key integer integer foo",
	"ZREMRANGEBYSCORE key score score", "ZREMRANGEBYSCORE key (1 score", "ZREMRANGEBYSCORE key -inf (2", "ZREMRANGEBYSCORE key x 1",
	"PEXPIREAT key 1", "PEXPIREAT key 9999999999999", "PEXPIREAT key integer",
	"RPUSH key value+", "LRANGE key integer integer",
	"PING", "ping value", "ECHO value", "PUBLISH key value", "CONFIG SET maxmemory memory", "CONFIG GET maxmemory", "CONFIG GET foo",
	"SELECT 0", "SELECT x", "SCRIPT EXISTS value", "EVALSHA value integer key", "PUBSUB NUMSUB key", "PUBSUB CHANNELS",
	"SET key value PX 1000000000", "SET key value KEEPTTL", "HSET key f value g value h value", "HDEL key f", "HGET key g", "DEL key",
	"ZADD key 1 f 2 g 3 h", "ZADD key GT INCR integer f",
	"GET", "SET key", "HSET key field", "foo key+", "TIME value",
}

// callers are ways to run a command: as it is, and from scripts.
var callers = []string{
	"",
	"return redis.call(unpack(ARGV))",
	"return redis.pcall(unpack(ARGV))",
	"return {redis.pcall(unpack(ARGV)), 1}",
	"local ok, reply = pcall(redis.call, unpack(ARGV)) return {ok, type(reply), reply}",
	"redis.call('DEL', 'nothing')\nreturn redis.call(unpack(ARGV))",
	"local reply = redis.pcall(unpack(ARGV)) return {type(reply), reply, type(reply) == 'table' and {#reply, reply.err, reply.ok}}",
}

// drawCommand takes a command of the forms. rapid likes the first ones, so they are to be in an
// order that was drawn.
func drawCommand(t *rapid.T, forms, callers []string) []any {
	var words []any
	for _, word := range strings.Fields(rapid.SampledFrom(forms).Draw(t, "command")) {
		times := 1
		if bare, is := strings.CutSuffix(word, "?"); is {
			word, times = bare, rapid.IntRange(0, 1).Draw(t, "times")
		} else if bare, is := strings.CutSuffix(word, "+"); is {
			word, times = bare, rapid.IntRange(1, 3).Draw(t, "times")
		}
		for range times {
			if choice, is := vocabulary[word]; is {
				words = append(words, rapid.SampledFrom(choice).Draw(t, word))
			} else {
				words = append(words, word)
			}
		}
	}
	if source := rapid.SampledFrom(callers).Draw(t, "caller"); source != "" {
		words = append([]any{"EVAL", source, 0}, words...)
	}
	return words
}

// The same commands have the same replies, and leave the same, on a real server.
func TestRepliesAreThoseOfRedis(t *testing.T) {
	t.Parallel()
	masters := both(t)
	rapid.Check(t, func(t *rapid.T) {
		same := func(words ...any) {
			if ours, theirs := said(masters[0], words), said(masters[1], words); ours != theirs {
				t.Fatalf("%q\nembedded: %s\nredis:    %s", words, ours, theirs)
			}
		}
		same("CONFIG", "SET", "maxmemory", 0)
		same("FLUSHALL")
		forms, callers := rapid.Permutation(grammar).Draw(t, "forms"), rapid.Permutation(callers).Draw(t, "callers")
		for range rapid.IntRange(100, 200).Draw(t, "commands") {
			words := drawCommand(t, forms, callers)
			if words[0] == "EVAL" && len(words) > 3 && (words[3] == "KEYS" || words[3] == "SCAN" || words[3] == "PTTL") {
				continue // see said
			}
			same(words...)
		}
		same("KEYS", "*")
		for _, key := range vocabulary["key"] {
			same("TYPE", key)
			same("PTTL", key)
			for _, look := range []string{"GET", "HGETALL"} {
				same(look, key)
			}
			same("ZRANGE", key, 0, -1, "WITHSCORES")
			same("LRANGE", key, 0, -1)
		}
	})
}

// What scripts return, raise and may do is as on a real server.
func TestScriptsAreAsOnRedis(t *testing.T) {
	t.Parallel()
	masters := both(t)
	for _, source := range []string{
		"return {1, 2.9, -2.9, 'a', false, true, {1, {2}}, {ok = 'fine'}, {err = 'MY error'}, nil, 3}",
		"return nil", "return", "return true", "return false", "return 'a\\0b'", "return 1e300", "return -7.9", "return {}", "return function() end",
		"return {ok = 'two\\nlines'}", "return {err = 'MY error'}", "return redis.status_reply('fine')",
		"return redis.error_reply('word')", "return redis.error_reply('-word')", "return redis.error_reply('MY error')", "return redis.error_reply(1)",
		"return redis.error_reply('')", "error('boom')", "error('boom', 0)", "error({err = 'MY error'})", "\n\nerror('boom')",
		"local function f() error('boom') end\nf()", "redis.call('foo')", "redis.call('GET')", "redis.call()", "redis.call('SET', 'k', {})",
		"redis.call('EVAL', 'return 1', 0)", "redis.call('SUBSCRIBE', 'x')", "redis.call('CONFIG', 'GET', 'maxmemory')",
		"return redis.pcall('foo')", "return redis.pcall()", "return redis.pcall('GET')", "return redis.pcall('GET', {})",
		"x = 1", "return x", "KEYS = 1", "redis = nil", "_G.x = 1", "function f() end", "return print", "return require", "return type(_G)",
		"local ok, e = pcall(error, {err = 'x'}) return {ok, type(e), e}",
		"local ok, e = pcall(error, {1, 2}) return {ok, type(e), e}", "local ok, e = pcall(function() error('x') end) return {ok, e}",
		"return {pcall(function(...) return ... end, 1, 'b', nil, 3)}",
		"redis.call('SET', 'k', 12345678901234567) return redis.call('GET', 'k')", "redis.call('SET', 'k', 0.1) return redis.call('GET', 'k')",
		"redis.call('SET', 'k', 1e20) return redis.call('GET', 'k')", "redis.call('SET', 'k', -5) return redis.call('GET', 'k')",
		"redis.call('SET', 'k', -0.0) return redis.call('GET', 'k')",
		"return {tonumber('1e3'), tonumber(' 12 '), tonumber('0x10'), tonumber('-7'), tonumber('+7'), tonumber('12x') == nil, tonumber('') == nil}",
		"return {tonumber('9007199254740993'), tonumber('ff', 16), tonumber(5), tonumber(nil) == nil, tonumber('none') == nil}",
		"return string.format('%s|%d|%.0f|%s|%5d|%%|%.2f|%s', 'a', 3, 4, 5, 6, 7, -8)", "return string.format('%s %s', 'a', 0.5)",
		"return string.format('%s %.0f %.0f', true and 'x', 2.5, -3)",
		"return {string.format('%.0f', 1503020000123456), string.format('%s %d', 'a', 3), tostring(10), 3 .. ''}",
		"return {string.match('o 1 22 +', '^(%S+) (%d+) (%d+) (%d*)(%+?)$')}", "return {string.find('a.b', '.', 1, true)}",
		"return cjson.decode('{\"a\":[1,2,{\"b\":\"c\"}]}').a", "return cjson.decode('{\"a\":[1,2,{\"b\":\"c\"}]}').a[3].b",
		"return redis.sha1hex('a')", "return redis.log(redis.LOG_NOTICE, 'x')", "return {unpack({1, 2, 3})}", "return #ARGV + #KEYS",
		"local t = {} for i = 1, 600 do t[i] = 'k' .. i end return #redis.call('MGET', unpack(t))",
		"local t = redis.call('MGET', 'k', 'nothing', 'k') return {#t, t[2]}",
	} {
		for _, words := range [][]any{{"EVAL", source, 1, "k", "v"}, {"EVALSHA", shaOf(source), 1, "k", "v"}} {
			if ours, theirs := said(masters[0], words), said(masters[1], words); ours != theirs {
				t.Errorf("%q\nembedded: %s\nredis:    %s", source, ours, theirs)
			}
		}
	}
	for _, words := range [][]any{
		{"EVAL", "return 1", "x"}, {"EVAL", "return 1", -1}, {"EVAL", "return 1", 2, "a"}, {"EVALSHA", "abc", 0},
		{"EVALSHA", strings.ToUpper(shaOf("return 1e300")), 0}, {"SCRIPT", "LOAD", "return 7"}, {"EVALSHA", shaOf("return 7"), 0},
		{"SCRIPT", "EXISTS", shaOf("return 7"), shaOf("return 8")}, {"SCRIPT", "EXISTS"}, {"SCRIPT", "foo"}, {"SCRIPT", "KILL"}, {"SCRIPT", "FLUSH"},
		{"EVALSHA", shaOf("return 7"), 0}, {"CLIENT", "SETNAME", "x"}, {"CLIENT", "SETNAME"}, {"CLIENT", "foo"}, {"CONFIG", "foo"},
		{"CONFIG", "GET"}, {"CONFIG", "SET", "foo", 1}, {"CONFIG", "SET", "appendonly", "maybe"}, {"CONFIG", "SET", "appendfsync", "now"},
		{"CONFIG", "SET", "maxmemory-policy", "lru"}, {"CONFIG", "SET", "maxmemory-policy", "Volatile-LRU"}, {"CONFIG", "GET", "maxmemory-policy"},
		{"CONFIG", "SET", "no-appendfsync-on-rewrite", "yes"}, {"CONFIG", "GET", "no-appendfsync-on-rewrite"}, {"PUBSUB", "foo"}, {"AUTH", "x"}, {"AUTH", "a", "b"}, {"HELLO", 9}, {"HELLO", "x"},
		{"UNSUBSCRIBE"},
	} {
		if ours, theirs := said(masters[0], words), said(masters[1], words); ours != theirs {
			t.Errorf("%q\nembedded: %s\nredis:    %s", words, ours, theirs)
		}
	}
}
