package membership

import (
	"testing"
	"time"
)

// However short a rest is, it ends by itself, but for one that is for good.
func TestRestsEnd(t *testing.T) {
	for wait, ends := range map[time.Duration]bool{0: false, time.Millisecond: true, 50 * time.Millisecond: true, time.Second: true} {
		g := NewGroup(Config{})
		g.working = true
		if !g.rest(wait) || g.working || (g.timer != nil) != ends {
			t.Errorf("a rest of %v: works on %v, has a timer %v", wait, g.working, g.timer != nil)
		}
		g.again = true
		if g.rest(wait) {
			t.Errorf("a rest of %v, though something has happened", wait)
		}
		g.Stop()
		g.Wait()
	}
}
