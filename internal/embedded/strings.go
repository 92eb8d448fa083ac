package embedded

import (
	"math"
	"strconv"
	"strings"
)

func get(s *store, args []string) reply {
	value, e, right := valueOf[string](s, args[0])
	switch {
	case !right:
		return errWrongType
	case e == nil:
		return reply{}
	}
	return text(value)
}

func mget(s *store, args []string) reply {
	all := make([]reply, len(args))
	for i, key := range args {
		if value, e, right := valueOf[string](s, key); right && e != nil {
			all[i] = text(value)
		}
	}
	return arrayOf(all...)
}

func set(s *store, args []string) reply {
	var nx, xx, keep, old bool
	var unit int64 // of the ttl, ms; 0 for none
	var life string
	for i := 2; i < len(args); i++ {
		switch option := strings.ToUpper(args[i]); {
		case option == "NX" && !xx:
			nx = true
		case option == "XX" && !nx:
			xx = true
		case option == "GET":
			old = true
		case option == "KEEPTTL" && unit == 0:
			keep = true
		case (option == "PX" || option == "EX") && unit == 0 && !keep && i+1 < len(args):
			unit = map[string]int64{"PX": 1, "EX": 1000}[option]
			i++
			life = args[i]
		default:
			return errSyntax
		}
	}
	var expires int64
	if unit > 0 {
		n, is := integerOf(life)
		if !is {
			return errNoInteger
		}
		if expires, is = s.endOf(n, unit); !is || n <= 0 {
			return failed("ERR invalid expire time in 'set' command")
		}
	}
	said := ok
	if old {
		if said = get(s, args[:1]); said.kind == failure {
			return said
		}
	}
	e := s.find(args[0])
	if nx && e != nil || xx && e == nil {
		if old {
			return said
		}
		return reply{}
	}
	if keep && e != nil {
		expires = e.expires
	}
	s.put(args[0], args[1]).expires = expires
	return said
}

func mset(s *store, args []string) reply {
	if len(args)%2 != 0 {
		return wrongNumber("mset")
	}
	for i := 0; i < len(args); i += 2 {
		s.put(args[i], args[i+1])
	}
	return ok
}

// add is what the commands that count have in common.
func add(s *store, key string, by int64) reply {
	value, e, right := valueOf[string](s, key)
	if !right {
		return errWrongType
	}
	n := int64(0)
	if e != nil {
		if n, right = integerOf(value); !right {
			return errNoInteger
		}
	}
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return errOverflow
	}
	n += by
	if e == nil {
		e = s.put(key, nil)
	}
	e.value = strconv.FormatInt(n, 10)
	return number(n)
}

func incr(s *store, args []string) reply { return add(s, args[0], 1) }
func decr(s *store, args []string) reply { return add(s, args[0], -1) }

func incrby(s *store, args []string) reply {
	by, is := integerOf(args[1])
	if !is {
		return errNoInteger
	}
	return add(s, args[0], by)
}

func decrby(s *store, args []string) reply {
	by, is := integerOf(args[1])
	switch {
	case !is:
		return errNoInteger
	case by == math.MinInt64:
		return failed("ERR decrement would overflow")
	}
	return add(s, args[0], -by)
}

func appendText(s *store, args []string) reply {
	value, e, right := valueOf[string](s, args[0])
	if !right {
		return errWrongType
	}
	if e == nil {
		e = s.put(args[0], nil)
	}
	value += args[1]
	e.value = value
	return number(int64(len(value)))
}

func strlen(s *store, args []string) reply {
	value, _, right := valueOf[string](s, args[0])
	if !right {
		return errWrongType
	}
	return number(int64(len(value)))
}
