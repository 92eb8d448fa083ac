package embedded

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
)

// store is the data of a master.
type store struct {
	mu      sync.Mutex // held while a command runs; what runs never waits
	entries map[string]*entry
	file    map[string]*entry // what the next life begins with; nil: what there is by then
	now     int64             // us since 1970 by the master's clock, read once for each command of a client
	sweepAt int               // so many keys make the next new one remove those that have expired
}

// entry is a key's value, and when it ends.
type entry struct {
	value   any   // string, *hash, *zset or *list
	expires int64 // ms since 1970; 0 for never
}

const sweepLeast = 1024

func newStore() *store {
	return &store{entries: map[string]*entry{}, sweepAt: sweepLeast}
}

func (s *store) millis() int64 { return s.now / 1000 }

// alive reports that an entry has not expired. In the millisecond at which it ends it is there yet,
// as in Redis.
func (s *store) alive(e *entry) bool { return e.expires == 0 || s.millis() <= e.expires }

// find returns the entry of a key, or nil. It removes one that has expired.
func (s *store) find(key string) *entry {
	e := s.entries[key]
	if e == nil || s.alive(e) {
		return e
	}
	delete(s.entries, key)
	return nil
}

// put sets a key, which has no end then.
func (s *store) put(key string, value any) *entry {
	e := &entry{value: value}
	s.entries[key] = e
	if len(s.entries) >= s.sweepAt {
		maps.DeleteFunc(s.entries, func(_ string, e *entry) bool { return !s.alive(e) })
		s.sweepAt = max(sweepLeast, 2*len(s.entries))
	}
	return e
}

// remove reports whether the key was there.
func (s *store) remove(key string) bool {
	there := s.find(key) != nil
	delete(s.entries, key)
	return there
}

func (s *store) flush() { s.entries, s.sweepAt = map[string]*entry{}, sweepLeast }

// keys returns all keys that have not expired, sorted.
func (s *store) keys() []string {
	var keys []string
	for key, e := range s.entries {
		if s.alive(e) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// valueOf returns the value of a key, and its entry; both are zero if the key is missing. right is
// false if the value is of another type.
func valueOf[T any](s *store, key string) (value T, e *entry, right bool) {
	e = s.find(key)
	if e == nil {
		return value, nil, true
	}
	value, right = e.value.(T)
	return value, e, right
}

// lookInto returns a command that reads a value; a missing one is the zero value.
func lookInto[T any](look func(value *T, args []string) reply) func(*store, []string) reply {
	return func(s *store, args []string) reply {
		value, e, right := valueOf[*T](s, args[0])
		if !right {
			return errWrongType
		}
		if e == nil {
			value = new(T)
		}
		return look(value, args[1:])
	}
}

// takeOut is a command that removes fields or members of a value, and the key with the last of
// them.
func takeOut[T interface {
	remove(name string) bool
	empty() bool
}](s *store, args []string) reply {
	value, e, right := valueOf[T](s, args[0])
	switch {
	case !right:
		return errWrongType
	case e == nil:
		return number(0)
	}
	n := int64(0)
	for _, name := range args[1:] {
		if value.remove(name) {
			n++
		}
	}
	if value.empty() {
		s.remove(args[0])
	}
	return number(n)
}

// evict removes a share of the keys, or of those that expire, and returns how many.
func (s *store) evict(share float64, expiring bool, chance *rand.Rand) int {
	keys := slices.DeleteFunc(s.keys(), func(key string) bool { return expiring && s.entries[key].expires == 0 })
	n := int(share*float64(len(keys)) + 0.5)
	chance.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for _, key := range keys[:n] {
		delete(s.entries, key)
	}
	return n
}

// cloned returns a copy of all entries.
func cloned(entries map[string]*entry) map[string]*entry {
	all := make(map[string]*entry, len(entries))
	for key, e := range entries {
		value := e.value
		switch v := value.(type) {
		case *hash:
			value = v.clone()
		case *zset:
			value = v.clone()
		case *list:
			value = &list{items: slices.Clone(v.items)}
		}
		all[key] = &entry{value: value, expires: e.expires}
	}
	return all
}
