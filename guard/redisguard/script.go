package redisguard

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed guard.lua
var head string

// Script is a write in Lua. It runs after the check of the token, in one Lua script with the check.
// Make each Script once and reuse it: the server caches scripts by their hash.
type Script struct {
	script *redis.Script
}

// NewScript makes a guarded script of a body in Lua, which is written as for EVAL: its keys are in
// KEYS and its arguments in ARGV, from 1 on, and it returns the reply. The body runs only if the
// token is not stale. It must not touch fence keys, and must not reply with an error
// that begins with FENCED. Line numbers in errors of the server count the guard's lines too.
func NewScript(body string) *Script {
	return &Script{script: redis.NewScript(head + body)}
}
