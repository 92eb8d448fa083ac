package embedded

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

// both returns clients of an embedded and of a real master.
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

// replyOf returns the reply to a command as text.
func replyOf(c *redis.Client, words []any) string {
	reply, err := c.Do(context.Background(), words...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "-" + err.Error()
	}
	return fmt.Sprintf("%#v", reply)
}

// Results, errors and limits of scripts match Redis, and so do replies about the server's state. Package
// scripts compares the library's scripts.
func TestScriptsMatchRedis(t *testing.T) {
	t.Parallel()
	masters := both(t)
	compare := func(words ...any) {
		t.Helper()
		if ours, theirs := replyOf(masters[0], words), replyOf(masters[1], words); ours != theirs {
			t.Errorf("%q\nembedded: %s\nredis:    %s", words, ours, theirs)
		}
	}
	for _, source := range []string{
		"return {1, 2.9, -2.9, 'a', false, true, {1, {2}}, {ok = 'fine'}, {err = 'MY error'}, nil, 3}",
		"return nil", "return", "return true", "return false", "return 'a\\0b'", "return -7.9", "return {}", "return function() end",
		"return {ok = 'two\\nlines'}", "return {err = 'MY error'}", "return redis.status_reply('fine')",
		"return redis.error_reply('word')", "return redis.error_reply('-word')", "return redis.error_reply('MY error')",
		"return redis.error_reply('')", "error({err = 'MY error'})", "redis.call('foo')", "redis.call()", "redis.call('SET', 'k', {})",
		"redis.call('HSET', 'h', 'f', 'v') redis.call('GET', 'h')", "\n\nlocal function f() redis.call('INCR', 'h') end\nf()",
		"redis.call('EVAL', 'return 1', 0)", "redis.call('SUBSCRIBE', 'x')", "redis.call('CONFIG', 'GET', 'maxmemory')",
		"return redis.pcall('foo')", "return redis.pcall()", "return redis.pcall('GET', {})", "return redis.pcall('HSET', 'h', 'f', 'v', 'g')",
		"return print", "return require",
		"local ok, e = pcall(error, {err = 'x'}) return {ok, type(e), e}", "local ok, e = pcall(redis.call, 'GET', 'h') return {ok, type(e), e}",
		"local ok, e = pcall(error, {1, 2}) return {ok, type(e), e}", "return {pcall(function(...) return ... end, 1, 'b', nil, 3)}",
		"redis.call('SET', 'k', 12345678901234567) return redis.call('GET', 'k')", "redis.call('SET', 'k', 0.1) return redis.call('GET', 'k')",
		"redis.call('SET', 'k', 1e20) return redis.call('GET', 'k')", "redis.call('SET', 'k', -5) return redis.call('GET', 'k')",
		"redis.call('ZADD', 'z', 1503020000123456, 'm') return tonumber(redis.call('ZSCORE', 'z', 'm'))",
		"redis.call('ZADD', 'z', 1e15, 'm') return tonumber(redis.call('ZRANGE', 'z', 0, 0, 'WITHSCORES')[2])",
		"return {tonumber('1e3'), tonumber(' 12 '), tonumber('0x10'), tonumber('-7'), tonumber('+7'), tonumber('12x') == nil, tonumber('') == nil}",
		"return {tonumber('9007199254740993'), tonumber('ff', 16), tonumber(5), tonumber(nil) == nil, tonumber('none') == nil}",
		"return string.format('%s|%d|%.0f|%s|%5d|%%|%.2f|%s', 'a', 3, 4, 5, 6, 7, -8)",
		"return {string.format('%.0f', 1503020000123456), string.format('%s %d', 'a', 3), tostring(10), 3 .. ''}",
		"return {string.match('o 22 +', '^(%S+) (%d+) (%d*)(%+?)$')}", "return {string.find('a.b', '.', 1, true)}",
		"return cjson.decode('{\"a\":[1,2,{\"b\":\"c\"}]}').a", "return cjson.decode('{\"a\":[1,2,{\"b\":\"c\"}]}').a[3].b",
		"return redis.sha1hex('a')", "return {unpack({1, 2, 3})}", "return #ARGV + #KEYS",
		"local t = {} for i = 1, 600 do t[i] = 'k' .. i end return #redis.call('MGET', unpack(t))",
		"local t = redis.call('MGET', 'k', 'nothing', 'k') return {#t, t[2]}", "return redis.call('PING')",
	} {
		compare("EVAL", source, 1, "k", "v")
		compare("EVALSHA", shaOf(source), 1, "k", "v")
	}
	for _, words := range [][]any{
		{"EVAL", "return 1", "x"}, {"EVAL", "return 1", -1}, {"EVAL", "return 1", 2, "a"}, {"EVALSHA", "abc", 0},
		{"EVALSHA", strings.ToUpper(shaOf("return -7.9")), 0}, {"SCRIPT", "LOAD", "return 7"}, {"EVALSHA", shaOf("return 7"), 0},
		{"SCRIPT", "EXISTS", shaOf("return 7"), shaOf("return 8")}, {"SCRIPT", "KILL"}, {"SCRIPT", "FLUSH"}, {"EVALSHA", shaOf("return 7"), 0},
		{"CONFIG", "SET", "foo", 1}, {"CONFIG", "SET", "maxmemory", "x"}, {"CONFIG", "SET", "maxmemory-policy", "Volatile-LRU"}, {"CONFIG", "GET", "maxmemory-policy"},
		{"SET", "p", "v", "PX", 60300}, {"TTL", "p"}, {"SET", "p", "w", "NX", "PX", 1}, {"TTL", "p"}, {"SET", "p", "w", "KEEPTTL"}, {"TTL", "p"},
		{"PERSIST", "p"}, {"PTTL", "p"}, {"EXPIRE", "p", 100}, {"TTL", "p"}, {"DEL", "p"}, {"HSET", "p", "f", "v"}, {"TTL", "p"}, {"TTL", "nothing"},
		{"PEXPIREAT", "p", 1}, {"EXISTS", "p"},
	} {
		compare(words...)
	}
}

// A script that would change a global is refused when it is loaded.
func TestScriptGlobalsAreReadOnly(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		for source, wants := range map[string]string{
			"x = 1":            "ERR Error compiling script (new function): Attempt to modify a readonly table",
			"function f() end": "ERR Error compiling script (new function): Attempt to modify a readonly table",
			"return x":         "ERR user_script:1: Script attempted to access nonexistent global variable 'x' script: ",
			"return _G":        "ERR user_script:1: Script attempted to access nonexistent global variable '_G' script: ",
			"error('boom')":    "ERR user_script:1: boom script: " + shaOf("error('boom')") + ", on @user_script:1.",
			"return (":         "ERR Error compiling script (new function): user_script",
		} {
			wantError(t, c.Do(t.Context(), "EVAL", source, 0), wants)
		}
	})
}
