package exclusion

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, path string) *Check {
	t.Helper()
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestOrderlyHoldersPass(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page")
	a, b := open(t, path), open(t, path)
	if _, ok := a.Enter(1, 10); ok {
		t.Error("the first had one before it")
	}
	a.Leave(1)
	time.Sleep(time.Millisecond)
	if since, ok := b.Enter(2, 11); !ok || since < time.Millisecond {
		t.Errorf("handed over after %v, %t", since, ok)
	}
	b.Leave(2)
	a.Enter(1, 0) // no token is no violation
	a.Leave(1)
	if err := b.Err(); err != nil {
		t.Error(err)
	}
}

func TestPlantedViolationsAreCaught(t *testing.T) {
	for what, violate := range map[string]func(a, b *Check){
		"1 entered while another":  func(a, b *Check) { a.Enter(1, 1); b.Enter(2, 2); b.Leave(2) },
		"1 found another":          func(a, b *Check) { a.Enter(1, 1); b.Enter(2, 2); a.Leave(1) },
		"1 tokens did not grow":    func(a, b *Check) { a.Enter(1, 7); a.Leave(1); b.Enter(2, 7) },
		"0 found another in when ": func(a, b *Check) { a.Enter(1, 7); a.Leave(1); b.Enter(2, 6) },
	} {
		path := filepath.Join(t.TempDir(), "page")
		a, b := open(t, path), open(t, path)
		violate(a, b)
		for _, c := range []*Check{a, b} {
			if err := c.Err(); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("want %q, got %v", what, err)
			}
		}
	}
}

// A lock that is none is caught, and one that is one is not.
func TestAgainstGoroutines(t *testing.T) {
	for _, locks := range []bool{true, false} {
		c := open(t, filepath.Join(t.TempDir(), "page"))
		var mu sync.Mutex
		var token uint64
		var wg sync.WaitGroup
		for id := range int64(4) {
			wg.Go(func() {
				for range 20 {
					if locks {
						mu.Lock()
						token++
					}
					c.Enter(id+1, token)
					time.Sleep(10 * time.Microsecond)
					c.Leave(id + 1)
					if locks {
						mu.Unlock()
					}
				}
			})
		}
		wg.Wait()
		if err := c.Err(); (err == nil) != locks {
			t.Errorf("with a lock %t: %v", locks, err)
		}
	}
}
