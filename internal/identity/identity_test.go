package identity

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestClientOfOwner(t *testing.T) {
	t.Parallel()
	client, seen := NewClient(), map[string]bool{}
	for range 1000 {
		before := time.Now().Truncate(time.Millisecond)
		owner := NewOwner(client)
		if seen[owner] || ClientOf(owner) != client || len(owner) != 2*idLen+1 || strings.ContainsAny(owner, " :{}") {
			t.Fatalf("%q of %q", owner, client)
		}
		if at := Since(owner); at.Before(before) || at.After(time.Now()) {
			t.Errorf("made at %v, and has %v", before, at)
		}
		seen[owner] = true
	}
	for _, owner := range []string{"", "c", "c.", "c.1", client + ".????", client + "." + client + "A"} {
		if at := Since(owner); !at.IsZero() {
			t.Errorf("%q: %v", owner, at)
		}
	}
	if got := ClientOf("0f9c3e1a-8b7c"); got != "0f9c3e1a-8b7c" {
		t.Error(got)
	}
}

func TestReadIdentity(t *testing.T) {
	t.Parallel()
	if who, ok := Read(Of("payroll")); !ok || who.Name != "payroll" || who.PID != os.Getpid() {
		t.Errorf("%+v, %v", who, ok)
	}
	for _, stored := range []string{"", "words", `{"pid":"one"}`} {
		if who, ok := Read(stored); ok {
			t.Errorf("%q is %+v", stored, who)
		}
	}
}
