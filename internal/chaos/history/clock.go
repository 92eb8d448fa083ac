package history

import (
	"fmt"
	"strconv"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// ClockEnv is the environment variable with the start of the run, as Clock.String writes it.
const ClockEnv = "REDLOCK_CHAOS_START"

// Clock measures the time since the start of a run. All clocks of one run agree, in every process.
type Clock struct {
	start int64 // ns on the machine's clock
}

// StartClock returns the clock of a run that begins now.
func StartClock() Clock { return Clock{start: int64(clock.Shared())} }

// ParseClock parses the result of String.
func ParseClock(text string) (Clock, error) {
	start, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return Clock{}, fmt.Errorf("history: %s=%q is no start of a run: %w", ClockEnv, text, err)
	}
	return Clock{start: start}, nil
}

// String returns the clock as text for the environment of another process of the run.
func (c Clock) String() string { return strconv.FormatInt(c.start, 10) }

// Now returns the time since the start of the run.
func (c Clock) Now() time.Duration { return time.Duration(int64(clock.Shared()) - c.start) }
