package script

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
)

// Clients of all versions must use the same keys for a name.
func TestKeysAreStable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "job", "payroll", "}:lock:", strings.Repeat("x", 500)} {
		h := fnv.New32a()
		_, _ = h.Write([]byte(name))
		bucket := fmt.Sprintf("p:{%d}:", h.Sum32()%uint32(Buckets))
		want := Keys{Lock: bucket + "lock:" + name, Fence: bucket + "fence", Gone: bucket + "gone:o", Queue: bucket + "queue:" + name, Asked: bucket + "asked:" + name}
		if got := KeysOf("p", name, "o"); got != want {
			t.Errorf("%.20q: %+v, want %+v", name, got, want)
		}
	}
}

func TestNameOfLockKey(t *testing.T) {
	t.Parallel()
	key := KeysOf("p", "job", "").Lock
	for _, x := range []struct {
		key, prefix string
		maxLen      int
		ok          bool
	}{
		{key, "p", 3, true},
		{key, "p", 2, false},
		{key, "q", 3, false},
		{KeysOf("p", "job", "").Queue, "p", 3, false},
		{KeysOf("p", "", "").Lock, "p", 3, false},
		{"p:{1}:lock:job", "p", 3, false}, // the name belongs to another bucket
	} {
		name, ok := NameOf(x.key, x.prefix, x.maxLen)
		if ok != x.ok || ok && name != "job" {
			t.Errorf("%s, prefix %s, at most %d bytes: %q, %t; want %t", x.key, x.prefix, x.maxLen, name, ok, x.ok)
		}
	}
}
