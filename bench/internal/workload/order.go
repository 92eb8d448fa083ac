package workload

import (
	"time"

	"github.com/redlock-go/redlock/bench/internal/clock"
)

// order is the part of a cell that one process has.
type order struct {
	Contender string
	Addrs     []string
	Workers   int
	First     int // the number of its first worker

	Contended  bool
	Waiting    bool // for names that another process holds throughout
	ClientEach bool
	Hold       time.Duration
	Page       string // file of the exclusion check, if contended
}

// window is when a cell counts, on clock.Now. What happens before it warms up.
type window struct{ From, Until int64 }

// opens leaves the processes some time to get ready.
func opens(warmUp, length time.Duration) window {
	from := clock.Now() + int64(warmUp)
	return window{from, from + int64(length)}
}

func (w window) has(t int64) bool         { return w.From < t && t <= w.Until }
func (w window) past(t int64) bool        { return t > w.Until }
func (w window) left() time.Duration      { return time.Duration(w.Until - clock.Now()) }
func (w window) drainedBy() time.Duration { return w.left() + drain }

// The two waits need no precision, and so keep no thread.
func (w window) awaitBegin() { time.Sleep(time.Duration(w.From - clock.Now())) }
func (w window) awaitEnd()   { time.Sleep(w.left()) }

// drain is how long those who wait at the end of a cell may have to be served.
const drain = 20 * time.Second

// sample is what one process measured within the window.
type sample struct {
	Pairs     []time.Duration // of lock and unlock, hold included
	Waits     []time.Duration // from call to hold
	Handovers []time.Duration // from release to the next hold
	Counts    []int           // holds, by worker
	Failed    int             // calls that ended in an error
	FirstErr  string
	CPU       time.Duration
	Mallocs   uint64
}

func (s *sample) add(more sample) {
	s.Pairs = append(s.Pairs, more.Pairs...)
	s.Waits = append(s.Waits, more.Waits...)
	s.Handovers = append(s.Handovers, more.Handovers...)
	s.Counts = append(s.Counts, more.Counts...)
	s.Failed += more.Failed
	if s.FirstErr == "" {
		s.FirstErr = more.FirstErr
	}
	s.CPU += more.CPU
	s.Mallocs += more.Mallocs
}

func (s *sample) fail(err error) {
	s.Failed++
	if s.FirstErr == "" {
		s.FirstErr = err.Error()
	}
}

// held is how many locks were had within the window.
func (s *sample) held() int {
	n := 0
	for _, c := range s.Counts {
		n += c
	}
	return n
}
