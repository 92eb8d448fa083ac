package script

import (
	"strconv"
	"strings"
)

// Buckets is the number of counters of a master. Names share the counters, so that the counters
// take a bounded amount of memory. All clients of a deployment must have the same Buckets. It is a
// variable only because TestSimulation sets it: masters in virtual time need fewer counters.
var Buckets = 4096

// Keys are the names of all keys of one lock on a master. All have the hash tag of the bucket.
type Keys struct {
	Lock  string // the lock: scripts/lock.lua describes its values
	Fence string // the bucket's counter
	Gone  string // the gone mark of one owner
	Queue string // a sorted set of the waiters, by ticket
	Asked string // a sorted set of the same waiters, by the time of their last request
}

// KeysOf returns the keys of a lock. It allocates once: the keys are slices of one string.
func KeysOf(prefix, name, owner string) Keys {
	var scratch [256]byte
	all := scratch[:0]
	var ends [5]int
	for i, kind := range [5][2]string{{"lock:", name}, {"fence", ""}, {"gone:", owner}, {"queue:", name}, {"asked:", name}} {
		all = append(append(all, prefix...), ":{"...)
		all = append(strconv.AppendInt(all, int64(BucketOf(name)), 10), "}:"...)
		all = append(append(all, kind[0]...), kind[1]...)
		ends[i] = len(all)
	}
	s := string(all)
	return Keys{Lock: s[:ends[0]], Fence: s[ends[0]:ends[1]], Gone: s[ends[1]:ends[2]], Queue: s[ends[2]:ends[3]], Asked: s[ends[3]:]}
}

// keyNames are the names for the keys in operations.go, in the order of the results of all().
var keyNames = []string{"lock", "fence", "gone", "queue", "asked"}

func (k *Keys) all() [5]*string { return [...]*string{&k.Lock, &k.Fence, &k.Gone, &k.Queue, &k.Asked} }

// NameOf returns the name in lockKey. ok is false if lockKey is not a lock key, or if the name is
// longer than maxLen bytes.
func NameOf(lockKey, prefix string, maxLen int) (name string, ok bool) {
	_, name, _ = strings.Cut(strings.TrimPrefix(lockKey, prefix), "}:lock:")
	return name, name != "" && len(name) <= maxLen && KeysOf(prefix, name, "").Lock == lockKey
}

// RegisterKey returns the key of a master's part of the register of members.
func RegisterKey(prefix string) string { return prefix + ":member" }

// ClientKey returns the key of the data that a client announces to masters.
func ClientKey(prefix, id string) string { return prefix + ":client:" + id }

// FenceKey returns the key of a bucket's counter.
func FenceKey(prefix string, bucket int) string {
	return prefix + ":{" + strconv.Itoa(bucket) + "}:fence"
}

// BucketOf returns the 32-bit FNV-1a hash of name, mod Buckets. All versions and languages must use the
// same hash. The algorithm is written out, because hash/fnv allocates.
func BucketOf(name string) int {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return int(h % uint32(Buckets))
}
