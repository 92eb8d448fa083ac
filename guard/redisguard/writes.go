package redisguard

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/fence"
)

var (
	claimScript = NewScript(`return redis.status_reply('OK')`)

	setScript = NewScript(`
if ARGV[2] == '0' then
	return redis.call('SET', KEYS[1], ARGV[1])
end
return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])`)

	// One call for each field, because unpack fails beyond some thousand values.
	hsetScript = NewScript(`
for i = 1, #ARGV, 2 do
	redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
end
return redis.status_reply('OK')`)

	delScript = NewScript(`
for _, key in ipairs(KEYS) do
	redis.call('DEL', key)
end
return redis.status_reply('OK')`)
)

// Set sets the string at key if token is not stale. A ttl of 0 means that the key does not expire.
// Any other ttl must be at least a millisecond, and fractions of a millisecond are cut off. As with SET in Redis, an
// earlier expiry of the key is removed. value may be any argument that go-redis accepts.
func (g *Guard) Set(ctx context.Context, resource string, token fence.Token, key string, value any, ttl time.Duration) error {
	if ttl < 0 || (ttl > 0 && ttl < time.Millisecond) {
		return fmt.Errorf("%w: ttl is %v: must be 0, for none, or at least 1ms", fence.ErrInvalid, ttl)
	}
	return g.Run(ctx, resource, token, setScript, []string{key}, value, ttl.Milliseconds()).Err()
}

// HSet sets fields of the hash at key if token is not stale. fields are one or more names, each
// followed by its value. They must be arguments that go-redis accepts.
func (g *Guard) HSet(ctx context.Context, resource string, token fence.Token, key string, fields ...any) error {
	if len(fields) == 0 || len(fields)%2 != 0 {
		return fmt.Errorf("%w: fields has %d elements: must be pairs of a name and a value", fence.ErrInvalid, len(fields))
	}
	return g.Run(ctx, resource, token, hsetScript, []string{key}, fields...).Err()
}

// Del deletes keys, at least one, if token is not stale. A missing key is no error.
func (g *Guard) Del(ctx context.Context, resource string, token fence.Token, keys ...string) error {
	if len(keys) == 0 {
		return fmt.Errorf("%w: keys is empty: use Claim to raise the fence alone", fence.ErrInvalid)
	}
	return g.Run(ctx, resource, token, delScript, keys).Err()
}
