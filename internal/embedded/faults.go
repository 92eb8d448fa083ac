package embedded

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// SetClock sets the clock of the master to the clock of this process plus offset. The offset applies from the next
// command on, and restarts keep it. The default is 0. If the clock goes back, expired keys do not return.
func (s *Server) SetClock(offset time.Duration) {
	s.state.Lock()
	defer s.state.Unlock()
	s.offset = offset
}

// Snapshot is a copy of the data of a master: keys, values and the times at which they expire.
type Snapshot map[string]entry

type entry struct {
	value   any   // string, []string (a list), map[string]string (a hash) or map[string]float64 (a sorted set)
	expires int64 // ms since 1970; 0 for never
}

// Snapshot returns a copy of all data, even while the master is down.
func (s *Server) Snapshot() Snapshot {
	s.state.Lock()
	defer s.state.Unlock()
	return s.copied()
}

func (s *Server) copied() Snapshot {
	s.tick()
	all := Snapshot{}
	for _, key := range s.data.Keys() {
		var e entry
		switch s.data.Type(key) {
		case "string":
			e.value, _ = s.data.Get(key)
		case "list":
			list, _ := s.data.List(key)
			e.value = slices.Clone(list)
		case "hash":
			hash := map[string]string{}
			names, _ := s.data.HKeys(key)
			for _, name := range names {
				hash[name] = s.data.HGet(key, name)
			}
			e.value = hash
		case "zset":
			scores, _ := s.data.SortedSet(key)
			e.value = maps.Clone(scores)
		}
		if s.data.TTL(key) != 0 {
			e.expires = s.ends[key]
		}
		all[key] = e
	}
	return all
}

// Restore replaces all data by a snapshot of this master or another. The same snapshot can be restored again. To
// simulate a restored backup, or a replica that lacked the last writes, the caller must kill the master before Restore,
// and restart it afterwards. A running master gets the data between two commands, and keeps its run_id, unlike any
// Redis.
func (s *Server) Restore(from Snapshot) {
	s.state.Lock()
	defer s.state.Unlock()
	s.replace(from)
}

func (s *Server) replace(from Snapshot) {
	s.data.FlushAll()
	for key, e := range from {
		switch v := e.value.(type) {
		case string:
			_ = s.data.Set(key, v) // each call fails only for a key of another type
		case []string:
			_, _ = s.data.Push(key, v...)
		case map[string]string:
			for name, value := range v {
				s.data.HSet(key, name, value)
			}
		case map[string]float64:
			for name, score := range v {
				_, _ = s.data.ZAdd(key, score, name)
			}
		}
		if e.expires != 0 {
			s.endAt(key, e.expires)
		}
	}
}

// Promote makes the master report, from the next Restart to the next Kill, that it was a replica before. Together with
// Restore of an older Snapshot, Promote simulates a promoted replica that lacked the last writes.
func (s *Server) Promote() { s.promoted.Store(true) }

// Follow makes the master a replica of the master other, as REPLICAOF does: the replica gets other's present data,
// refuses writes, and publishes what other publishes. If other is nil, the replica becomes a master again, and keeps
// its data. INFO then reports that it had a master. Follow does nothing if the master is down.
func (s *Server) Follow(other *Server) {
	r := s.current()
	if r == nil {
		return
	}
	s.state.Lock()
	was := r.follows
	r.follows = nil
	if was != nil {
		r.master = randomID()
	}
	s.state.Unlock()
	if was != nil {
		was.attach(r, false)
	}
	if other == nil {
		return
	}
	leader := other.current()
	if leader == nil {
		return // the replica is not linked, and keeps its data
	}
	copied := other.Snapshot()
	leader.attach(r, true)
	s.Restore(copied)
	s.state.Lock()
	defer s.state.Unlock()
	r.follows = leader
}

// attach adds a run to this run's replicas, or removes it.
func (r *run) attach(replica *run, on bool) {
	r.server.state.Lock()
	defer r.server.state.Unlock()
	if on {
		r.replicas[replica] = true
	} else {
		delete(r.replicas, replica)
	}
}

// Evict removes a share of the keys, from 0 to 1, and returns the number of removed keys. With an evicting
// maxmemory-policy it removes keys with an expiry, and INFO counts them. With another policy it removes any keys, as
// another program could. With the same data and the same state of the random source, Evict removes the same keys.
// Evict panics if share is not from 0 to 1.
func (s *Server) Evict(share float64, chance *rand.Rand) int {
	if !(share >= 0 && share <= 1) {
		panic("embedded: the share of keys to evict must be from 0 to 1")
	}
	r := s.current()
	s.state.Lock()
	defer s.state.Unlock()
	s.tick()
	evicts := r != nil && r.evicts()
	keys := slices.DeleteFunc(s.data.Keys(), func(key string) bool { return evicts && s.data.TTL(key) == 0 })
	n := int(share*float64(len(keys)) + 0.5)
	chance.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for _, key := range keys[:n] {
		s.data.Del(key)
	}
	if evicts {
		r.evicted += n
	}
	return n
}

// Remove removes a key, even while the master is down. Clients get no message about it. It reports whether
// the key existed.
func (s *Server) Remove(key string) bool {
	s.state.Lock()
	defer s.state.Unlock()
	s.tick()
	return s.data.Del(key)
}

// SetBusy(true) makes the master behave as during a long script that writes nothing. SetBusy(false) ends that, and
// so do SCRIPT KILL, Kill and Close. In the first 50 ms the commands of clients wait; after that, all commands are
// answered BUSY, except for HELLO, AUTH, QUIT and SCRIPT KILL. SetBusy does nothing if the master is down.
func (s *Server) SetBusy(on bool) {
	if r := s.current(); r != nil {
		r.gate.setBusy(on)
	}
}
