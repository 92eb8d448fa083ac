package redlock

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/leaktest"
)

// TestMain fails the run when a goroutine of the library outlives the tests. ci/test.sh
// looks for what it says then.
func TestMain(m *testing.M) {
	redis.SetLogger(&driverLog)
	if urls := os.Getenv(holderEnv); urls != "" {
		beHolder(urls)
		return
	}
	if urls := os.Getenv(overlapMasters); urls != "" {
		if err := beOverlapping(strings.Split(urls, ",")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(leaktest.Code(m.Run()))
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
