package embedded

import (
	"math"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// This file keeps the expiries of keys, instead of miniredis. miniredis counts each ttl down whenever time has passed,
// and sorts all keys to do so. With a few thousand keys, this takes longer than a script. miniredis also removes a key
// a millisecond before Redis does, and its ttls do not grow when the clock goes back.

// timed is the ttl that all keys with an expiry have in miniredis.
const timed = time.Duration(math.MaxInt64)

// setsTTL has the commands that can set a ttl for the key in their first argument.
var setsTTL = setOf("EXPIRE PEXPIRE PEXPIREAT SET")

// tick reads the clock for a command, and removes expired keys. The command keeps this time until its end. A key still
// exists in the millisecond at which it expires, as in Redis.
func (s *Server) tick() {
	s.time = time.Now().Round(0).Add(s.offset).Truncate(time.Microsecond)
	s.data.SetTime(s.time)
	now := s.time.UnixMilli()
	if now <= s.soonest {
		return
	}
	s.soonest = math.MaxInt64
	for key, end := range s.ends {
		switch {
		case s.data.TTL(key) == 0:
			delete(s.ends, key)
		case end < now:
			s.data.Del(key)
			delete(s.ends, key)
		default:
			s.soonest = min(s.soonest, end)
		}
	}
}

// endAt sets the expiry of a key.
func (s *Server) endAt(key string, end int64) {
	s.data.SetTTL(key, timed)
	s.ends[key] = end
	s.soonest = min(s.soonest, end)
}

// noteTTL records the ttl that a command set for a key.
func (s *Server) noteTTL(key string) {
	if ttl := s.data.TTL(key); ttl != 0 && ttl != timed {
		s.endAt(key, s.time.Add(ttl).UnixMilli())
	}
}

// ttl replies to PTTL, whose unit is 1 ms, or to TTL, whose unit is 1000 ms.
func (s *Server) ttl(c *server.Peer, key string, unit int64) {
	switch {
	case !s.data.Exists(key):
		c.WriteInt(-2)
	case s.data.TTL(key) == 0:
		c.WriteInt(-1)
	default:
		c.WriteInt(int((s.ends[key] - s.time.UnixMilli() + unit/2) / unit))
	}
}
