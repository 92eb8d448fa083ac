package embedded

import (
	"math"
	"path"
	"strconv"
	"strings"
)

// integerOf reads an integer as strictly as Redis does: no sign but a minus, no leading zero.
func integerOf(s string) (n int64, isInteger bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && (s[0] >= '1' && s[0] <= '9' || strconv.FormatInt(n, 10) == s)
}

// floatText is a number as C's %.17g writes it.
func floatText(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f == math.Trunc(f) && math.Abs(f) < 1<<53 && (f != 0 || !math.Signbit(f)):
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', 17, 64)
}

// matches reports that s fits a glob pattern.
func matches(pattern, s string) bool {
	plain := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") } // to path.Match a slash is special
	fits, err := path.Match(plain(pattern), plain(s))
	return err == nil && fits
}

func del(s *store, args []string) reply {
	n := int64(0)
	for _, key := range args {
		if s.remove(key) {
			n++
		}
	}
	return number(n)
}

func exists(s *store, args []string) reply {
	n := int64(0)
	for _, key := range args {
		if s.find(key) != nil {
			n++
		}
	}
	return number(n)
}

func typeOf(s *store, args []string) reply {
	e := s.find(args[0])
	if e == nil {
		return simple("none")
	}
	switch e.value.(type) {
	case *hash:
		return simple("hash")
	case *zset:
		return simple("zset")
	case *list:
		return simple("list")
	}
	return simple("string")
}

func keysLike(s *store, args []string) reply {
	var found []string
	for _, key := range s.keys() {
		if matches(args[0], key) {
			found = append(found, key)
		}
	}
	return texts(found)
}

// scan replies all keys that match at once: a server may look at more than it is asked to.
func scan(s *store, args []string) reply {
	pattern := "*"
	if cursor, is := integerOf(args[0]); !is || cursor < 0 {
		return failed("ERR invalid cursor")
	}
	for options := args[1:]; len(options) > 0; options = options[2:] {
		switch {
		case len(options) == 1:
			return errSyntax
		case strings.EqualFold(options[0], "MATCH"):
			pattern = options[1]
		case strings.EqualFold(options[0], "COUNT"):
			n, is := integerOf(options[1])
			if !is {
				return errNoInteger
			}
			if n < 1 {
				return errSyntax
			}
		default:
			return errSyntax
		}
	}
	return arrayOf(text("0"), keysLike(s, []string{pattern}))
}

func dbsize(s *store, _ []string) reply { return number(int64(len(s.keys()))) }

func flushAll(s *store, args []string) reply {
	if len(args) == 1 && !strings.EqualFold(args[0], "SYNC") && !strings.EqualFold(args[0], "ASYNC") {
		return errSyntax
	}
	s.flush()
	return ok
}

// endOf returns the time, in ms since 1970, that is so many units from now. It is false if there is
// no such time.
func (s *store) endOf(n, unit int64) (end int64, is bool) {
	if n > math.MaxInt64/unit || n < math.MinInt64/unit || n > 0 && n*unit > math.MaxInt64-s.millis() {
		return 0, false
	}
	return n*unit + s.millis(), true
}

// expire is EXPIRE, or with another unit of as many ms, PEXPIRE.
func expire(name string, unit int64) func(*store, []string) reply {
	return func(s *store, args []string) reply {
		n, is := integerOf(args[1])
		if !is {
			return errNoInteger
		}
		end, is := s.endOf(n, unit)
		if !is {
			return failed("ERR invalid expire time in '" + name + "' command")
		}
		return s.expireAt(args[0], end)
	}
}

func pexpireat(s *store, args []string) reply {
	end, is := integerOf(args[1])
	if !is {
		return errNoInteger
	}
	return s.expireAt(args[0], end)
}

// expireAt gives a key its end, in ms since 1970.
func (s *store) expireAt(key string, end int64) reply {
	e := s.find(key)
	switch {
	case e == nil:
		return number(0)
	case end <= s.millis():
		s.remove(key)
	default:
		e.expires = end
	}
	return number(1)
}

func persist(s *store, args []string) reply {
	e := s.find(args[0])
	if e == nil || e.expires == 0 {
		return number(0)
	}
	e.expires = 0
	return number(1)
}

// ttl is TTL, or with another unit of as many ms, PTTL.
func ttl(unit int64) func(*store, []string) reply {
	return func(s *store, args []string) reply {
		e := s.find(args[0])
		switch {
		case e == nil:
			return number(-2)
		case e.expires == 0:
			return number(-1)
		}
		return number((e.expires - s.millis() + unit/2) / unit)
	}
}

func timeNow(s *store, _ []string) reply {
	return texts([]string{strconv.FormatInt(s.now/1e6, 10), strconv.FormatInt(s.now%1e6, 10)})
}
