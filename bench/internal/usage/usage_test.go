package usage

import (
	"os"
	"testing"
	"time"
)

func TestCPUOfAStatLine(t *testing.T) {
	line := "42 (a ) b) S 1 42 42 0 -1 4194304 1 2 3 4 250 17 7 8 20 0 1 0 100 0 0\n"
	if got, want := cpu([]byte(line)), 2670*time.Millisecond; got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got := cpu([]byte("42 (cut")); got != 0 {
		t.Errorf("of a cut line: %v", got)
	}
}

func TestBothSourcesAgree(t *testing.T) {
	for deadline := time.Now().Add(60 * time.Millisecond); time.Now().Before(deadline); {
	}
	self, proc := Self(), Of([]int{os.Getpid(), 1 << 30})
	if self == 0 || (self-proc).Abs() > 3*tick {
		t.Errorf("getrusage says %v, /proc %v", self, proc)
	}
}
