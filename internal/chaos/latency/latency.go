package latency

import (
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// after is how long after the end of the last fault a time may begin that counts as healthy.
const after = time.Second

// Class says what was wrong while a time was measured.
type Class struct {
	Kind fault.Kind // of all faults that were under way; empty: none was, nor in the second before
	Hits Hits
}

// Healthy is the class of times that no fault has touched.
var Healthy = Class{}

// Hits says which masters the faults hit together. Members that the client does not name count as
// hit, if any is.
type Hits string

const (
	Nobody   Hits = "" // no master
	Minority Hits = "of a minority"
	More     Hits = "of more"
)

func (c Class) String() string {
	if c == Healthy {
		return "healthy"
	}
	return strings.TrimSpace(string(c.Kind) + " " + string(c.Hits))
}

// Times are the samples of each class.
type Times map[Class]*Samples

// Samples are times, in the order in which they ended.
type Samples struct {
	// Lock: from the begin of a try for a lock that nobody else wants to its hold. After a try that
	// failed it goes on with the next one.
	Lock []time.Duration

	// HandOver: from the begin of the unlock of a valid hold to the hold of one that waited then.
	HandOver []time.Duration
}

// Of returns the times of a history, which is in the order of At, on a deployment of so many
// masters. isProbe tells the names of locks that nobody else wants.
func Of(events []history.Event, masters int, isProbe func(name string) bool) Times {
	t := Times{}
	f := faultsOf(events, masters)
	l := lists{named: map[string]fault.Masters{}}
	locks, waits := probes{isProbe: isProbe, began: map[string]time.Duration{}}, handOvers{asked: map[call]time.Duration{}, held: map[string]*hold{}}
	for _, e := range events {
		l.take(e)
		if from, ok := locks.take(e); ok {
			t.at(f, l.lacks(e.Client), from, e.At, func(s *Samples) *[]time.Duration { return &s.Lock })
		}
		if from, ok := waits.take(e); ok {
			t.at(f, l.lacks(e.Client), from, e.At, func(s *Samples) *[]time.Duration { return &s.HandOver })
		}
	}
	return t
}

// at adds a time of a client that does not name some members to its class, if it has one.
func (t Times) at(f faults, lacks fault.Masters, from, to time.Duration, of func(*Samples) *[]time.Duration) {
	class, ok := f.classOf(lacks, from, to)
	if !ok {
		return
	}
	if t[class] == nil {
		t[class] = &Samples{}
	}
	samples := of(t[class])
	*samples = append(*samples, to-from)
}

// Add adds the times of another history.
func (t Times) Add(o Times) {
	for class, samples := range o {
		if t[class] == nil {
			t[class] = &Samples{}
		}
		t[class].Lock = append(t[class].Lock, samples.Lock...)
		t[class].HandOver = append(t[class].HandOver, samples.HandOver...)
	}
}
