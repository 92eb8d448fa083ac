package embedded

import (
	"maps"
	"math"
	"slices"
	"strconv"
)

// hash keeps its fields in the order in which they came, as a small one of Redis does.
type hash struct {
	at     map[string]int
	fields []field
}

type field struct{ name, value string }

func (h *hash) clone() *hash { return &hash{at: maps.Clone(h.at), fields: slices.Clone(h.fields)} }

func (h *hash) get(name string) (value string, there bool) {
	i, there := h.at[name]
	if !there {
		return "", false
	}
	return h.fields[i].value, true
}

// set reports whether the field is new.
func (h *hash) set(name, value string) bool {
	if i, there := h.at[name]; there {
		h.fields[i].value = value
		return false
	}
	h.at[name] = len(h.fields)
	h.fields = append(h.fields, field{name, value})
	return true
}

// remove reports whether the field was there.
func (h *hash) remove(name string) bool {
	i, there := h.at[name]
	if !there {
		return false
	}
	delete(h.at, name)
	h.fields = slices.Delete(h.fields, i, i+1)
	for ; i < len(h.fields); i++ {
		h.at[h.fields[i].name] = i
	}
	return true
}

func (h *hash) empty() bool { return len(h.fields) == 0 }

// hashOf returns the hash of a key, and makes a missing one. It is nil if the value is of another
// type.
func hashOf(s *store, key string) *hash {
	h, e, right := valueOf[*hash](s, key)
	switch {
	case !right:
		return nil
	case e == nil:
		h = &hash{at: map[string]int{}}
		s.put(key, h)
	}
	return h
}

func hget(h *hash, names []string) reply {
	value, there := h.get(names[0])
	if !there {
		return reply{}
	}
	return text(value)
}

func hmget(h *hash, names []string) reply {
	all := make([]reply, len(names))
	for i, name := range names {
		all[i] = hget(h, []string{name})
	}
	return arrayOf(all...)
}

func hgetall(h *hash, _ []string) reply {
	all := make([]reply, 0, 2*len(h.fields))
	for _, f := range h.fields {
		all = append(all, text(f.name), text(f.value))
	}
	return arrayOf(all...)
}

func hexists(h *hash, names []string) reply {
	_, there := h.get(names[0])
	return yes(there)
}

func hlen(h *hash, _ []string) reply { return number(int64(len(h.fields))) }

func hset(s *store, args []string) reply {
	if len(args)%2 != 1 {
		return wrongNumber("hset")
	}
	h := hashOf(s, args[0])
	if h == nil {
		return errWrongType
	}
	n := int64(0)
	for i := 1; i < len(args); i += 2 {
		if h.set(args[i], args[i+1]) {
			n++
		}
	}
	return number(n)
}

func hincrby(s *store, args []string) reply {
	by, is := integerOf(args[2])
	if !is {
		return errNoInteger
	}
	h, e, right := valueOf[*hash](s, args[0])
	switch {
	case !right:
		return errWrongType
	case e == nil:
		h = new(hash)
	}
	n := int64(0)
	if value, there := h.get(args[1]); there {
		if n, is = integerOf(value); !is {
			return failed("ERR hash value is not an integer")
		}
	}
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return errOverflow
	}
	hashOf(s, args[0]).set(args[1], strconv.FormatInt(n+by, 10))
	return number(n + by)
}
