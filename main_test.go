package redlock

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestMain fails the run when a goroutine of the library outlives the tests. ci/test.sh
// looks for what it says then.
func TestMain(m *testing.M) {
	redis.SetLogger(&driverLog)
	if urls := os.Getenv(holderEnv); urls != "" {
		beHolder(urls)
		return
	}
	code := m.Run()
	if left := leaked(); left != "" {
		fmt.Fprintf(os.Stderr, "goroutines outlived their clients:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// driverLog is what go-redis logged, about the tests' own clients as a rule.
var driverLog driverLogger

type driverLogger struct{ recorder }

func (l *driverLogger) Printf(_ context.Context, format string, args ...any) { l.note(format, args...) }

// about returns the lines that have text in them.
func (l *driverLogger) about(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for _, e := range l.events {
		if strings.Contains(e, text) {
			lines = append(lines, e)
		}
	}
	return lines
}

// leaked returns the stacks of goroutines that run this package's code, once
// those that are on their way out had time to go.
func leaked() string {
	var left []string
	for range 100 {
		left = left[:0]
		buf := make([]byte, 1<<20)
		for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(stack, "redlock.(*") || strings.Contains(stack, "go-redis") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return strings.Join(left, "\n\n")
}
