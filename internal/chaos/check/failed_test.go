package check

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// failsToHurt is a fault that could not be applied, or not as it should.
func (s *story) failsToHurt(from, to time.Duration, text, err string) {
	s.add(from, history.Event{Kind: history.FaultBegins, Fault: text})
	s.add(to, history.Event{Kind: history.FaultEnds, Fault: text, Err: err})
}

// befalls tells what a fault did to masters.
func (s *story) befalls(at time.Duration, kind history.Kind, masters ...string) {
	for _, m := range masters {
		s.add(at, history.Event{Kind: kind, Master: m})
	}
}

// The loss of a renewed hold beside a fault that failed: what did nothing does not excuse it.
func TestBadHistoriesOfFaultsThatFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		tell func(s *story)
	}{
		{"a kill that killed nobody", func(s *story) {
			s.failsToHurt(4800, 4810, "kill(m1+m2+m3,lost,900ms)", "m1: no such process")
		}},
		{"a kill that killed nobody, and what else befell masters", func(s *story) {
			s.failsToHurt(4800, 4810, "kill(m1+m2+m3,lost,900ms)", "m2: no such process")
			s.befalls(4799, history.MasterDown, "m1", "m2", "m3")
			s.befalls(4805, history.MasterFrozen, "m1", "m2", "m3")
			s.befalls(4805, history.MasterDown, "m4")
		}},
		{"a clock that cannot be set", func(s *story) {
			s.failsToHurt(4800, 4810, "clock(m1+m2+m3,5s,900ms)", "cluster: the server's clock cannot be set (unsupported operation)")
		}},
		{"a disk that cannot be filled", func(s *story) {
			s.failsToHurt(4800, 4810, "disk-full(m1+m2+m3,900ms)", "sim: unsupported operation")
		}},
		{"a partition from a master that is not there", func(s *story) {
			s.failsToHurt(4800, 5300, "partition(c0,m1+m2+m3+m9,both,900ms)", "there is no master m9")
		}},
		{"a stop that stopped nobody", func(s *story) {
			s.failsToHurt(4800, 5300, "stop-client(c0,900ms)", "no such process")
			s.client(4900, history.ClientKilled, "c3")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mustRefuse(t, lostBeside(c.tell), Lost, "unhurt since 4.96s")
		})
	}
}

// A fault that failed on the way excuses what others of its kind do.
func TestHistoriesOfFaultsThatFailAndPass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		tell func(s *story)
	}{
		{"a kill after which a master did not start", func(s *story) {
			s.failsToHurt(4800, 4900, "kill(m1+m2+m3,lost,100ms)", "m2: did not start")
			s.befalls(4810, history.MasterDown, "m1", "m2", "m3")
		}},
		{"a clock that could not be set right", func(s *story) {
			s.failsToHurt(4800, 4900, "clock(m1+m2+m3,5s,100ms)", "m2: no answer")
			s.befalls(4810, history.MasterClock, "m1", "m2", "m3")
		}},
		{"a flush without an answer", func(s *story) {
			s.failsToHurt(4800, 4900, "flushall(m1+m2+m3)", "flushall to m2: no answer")
		}},
		{"a change of the members that was left half-way", func(s *story) {
			s.failsToHurt(4800, 4900, "remove(m1,0s,100ms)", "no answer")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mustPass(t, lostBeside(c.tell))
		})
	}
}
