package embedded

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// benchScript does what an acquire and a release of the library do, by as many calls and functions.
const benchScript = `
local votes = redis.call('HGET', KEYS[1], 'votes') == ARGV[1]
local function isOwner(value, owner)
  return value and string.find(value, owner, 1, true) == 1 and string.byte(value, #owner + 1) == 32
end
local function grant(lock, fence, owner, ttl)
  local n = redis.pcall('INCR', fence)
  redis.call('SET', lock, string.format('%s 1 %.0f ', owner, n), 'PX', ttl)
  return n
end
local function acquire(lock, fence, gone, queue, owner, ttl)
  if redis.call('EXISTS', lock, gone, queue) ~= 0 then
    return redis.error_reply('GONE')
  end
  return grant(lock, fence, owner, ttl)
end
local function release(lock, owner)
  if isOwner(redis.call('GET', lock), owner) then
    return redis.call('DEL', lock)
  end
  return 0
end
local replies = {}
local _, reply = pcall(acquire, KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[2], ARGV[3])
replies[1] = votes and reply
_, reply = pcall(release, KEYS[2], ARGV[2])
replies[2] = reply
return replies`

// BenchmarkScript runs a script of the size of the library's: in the engine, and by EVALSHA from a
// client.
func BenchmarkScript(b *testing.B) {
	s := New()
	defer s.Close()
	c := redis.NewClient(s.Options())
	defer func() { _ = c.Close() }()
	ctx := b.Context()
	if err := c.HSet(ctx, "member", "votes", "1").Err(); err != nil {
		b.Fatal(err)
	}
	sha, err := c.ScriptLoad(ctx, benchScript).Result()
	if err != nil {
		b.Fatal(err)
	}
	keys := []string{"member", "lock:{17}:job", "{17}:fence", "gone:{17}:owner", "queue:{17}:job"}
	args := []string{"1", "0f8fad5b-d9cb-469f-a165-70867728950e", "30000"}
	b.Run("engine", func(b *testing.B) {
		b.ReportAllocs()
		r := s.current()
		s.data.mu.Lock()
		defer s.data.mu.Unlock()
		for b.Loop() {
			r.readClock()
			if said := s.engine.eval(r, sha, keys, args); len(said.items) != 2 || said.items[1].n != 1 {
				b.Fatal(said)
			}
		}
	})
	b.Run("EVALSHA", func(b *testing.B) {
		b.ReportAllocs()
		words := wordsOf(fmt.Sprintf("EVALSHA %s %d %s %s", sha, len(keys), strings.Join(keys, " "), strings.Join(args, " ")))
		for b.Loop() {
			if err := c.Do(ctx, words...).Err(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
