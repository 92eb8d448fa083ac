package clock

import "testing"

func TestClockDoesNotGoBack(t *testing.T) {
	before := Read()
	for range 1000 {
		now := Read()
		if now.Before(before) {
			t.Fatalf("%d after %d", now, before)
		}
		before = now
	}
}
