//go:build unix

package run

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
)

// Scenario is a story that is played in one round, in the place of faults that are drawn. A
// nil one is none: its methods return what other rounds have.
type Scenario struct {
	Name string

	Lists  [][]int         // by client: the masters that it names; nil: as in other rounds
	Fsync  cluster.Fsync   // empty: every write is on disk
	Clocks []time.Duration // by master: how far it is ahead from the start on

	// Faults are as a run prints them. Those before InModel must leave no two claims
	// overlap, whatever they are: fault.Schedule.InModel is not asked.
	Faults              string
	InModel, OutOfModel time.Duration

	// Inits is how often at least the members have to be founded by force. (Where losses come
	// one after the other, it depends on the machine whether each is over before the next.)
	Inits int
}

// Scenarios are all that there are.
var Scenarios = []Scenario{
	{
		// Each half of the clients names three members of five, and they have one in common.
		Name:    "lists",
		Lists:   [][]int{{0, 1, 2}, {2, 3, 4}},
		Faults:  "1s kill(m2,kept,300ms); 3s partition(c0+c1,m2,to-client,500ms); 5s drop-reply(*,m0+m1+m2+m3+m4,3,1s)",
		InModel: 7 * time.Second,
	},
	{
		// Nothing is on disk. All masters are restarted one after the other, then at once, and then
		// all are emptied.
		Name:  "all-lost",
		Fsync: cluster.None,
		Faults: "1s rolling-restart(m0+m1+m2+m3+m4,50ms); 3s init(m0+m1+m2+m3+m4); " +
			"7s kill(m0+m1+m2+m3+m4,kept,100ms); 7.5s init(m0+m1+m2+m3+m4); " +
			"11s flushall(m0+m1+m2+m3+m4); 11.1s init(m0+m1+m2+m3+m4)",
		InModel: 14 * time.Second,
		Inits:   1,
	},
	{
		// Nothing is on disk. Minorities are restarted, and come back by themselves.
		Name:    "some-lost",
		Fsync:   cluster.None,
		Faults:  "1s kill(m0+m1,kept,100ms); 5s rolling-restart(m2+m3,100ms); 9s flushall(m4+m0)",
		InModel: 12 * time.Second,
	},
	{
		// Most clocks jump, and are set right, in the middle of changes of the members. Leases are
		// not safe; tokens are.
		Name: "clocks",
		Faults: "500ms replace(m0,m5,0s,1s); 700ms clock(m1+m2+m3,1m,1s); 1.2s strobe(m4+m5,-20s,200ms,2s); " +
			"3.5s suspend(m1,0s,500ms); 3.5s replace(m2,m6,300ms,1s); 4s clock(m0+m1+m2+m3+m4+m5+m6,2m,700ms); 5s clock(m3+m4+m6,-1m,1s); " +
			"7s kill(m3,lost,100ms); 7s remove(m4,0s,500ms); 7.5s clock(m0+m1+m2,1h,500ms)",
		OutOfModel: 10 * time.Second,
	},
	{
		// Two clocks are wrong from the start, and set right in the middle of changes of the
		// members. That of a server jumps forward while it is new.
		Name:   "few-clocks",
		Clocks: []time.Duration{time.Minute, 0, 30 * time.Second},
		Faults: "500ms replace(m1,m5,0s,1s); 800ms clock(m0,0s,0s); 900ms clock(m5,1h,2s); " +
			"4s remove(m4,200ms,500ms); 4.3s clock(m2,0s,0s); 7.5s kill(m3,lost,100ms); 7.6s suspend(m0,0s,1s)",
		InModel: 10 * time.Second,
	},
	{
		// A spare is a member twice. All locks of the time between are had on members that nobody
		// reaches the second time.
		Name:  "twice",
		Lists: [][]int{{0, 1, 2, 3, 4, 5}},
		Faults: "0s partition(*,m3+m4,both,7200ms); 500ms replace(m0,m5,0s,0s); " +
			"7s replace(m0,m5,0s,20s); 7.2s partition(*,m1+m2,both,20s)",
		InModel: 12 * time.Second,
	},
}

// FindScenario returns the one of that name.
func FindScenario(name string) (*Scenario, error) {
	for i := range Scenarios {
		if Scenarios[i].Name == name {
			return &Scenarios[i], nil
		}
	}
	return nil, fmt.Errorf("chaos: there is no scenario %q", name)
}

// scenario returns the one of Config.Scenario, which Run has found to be there; nil if it is
// empty.
func (c Config) scenario() *Scenario {
	s, _ := FindScenario(c.Scenario)
	return s
}

func (s *Scenario) faults() string {
	if s == nil {
		return ""
	}
	return s.Faults
}

func (s *Scenario) fsync() cluster.Fsync {
	if s == nil {
		return ""
	}
	return s.Fsync
}

func (s *Scenario) clocks() []time.Duration {
	if s == nil {
		return nil
	}
	return s.Clocks
}

// list returns the masters that a client names. Half of the clients know only the founders,
// one knows a spare, and one all.
func (s *Scenario) list(client int) (masters []int) {
	if s != nil && s.Lists != nil {
		return slices.Clone(s.Lists[client%len(s.Lists)])
	}
	most := masterCount + max(0, client-clientCount/2+1)
	for n := range min(most, masterCount+spareCount) {
		masters = append(masters, n)
	}
	return masters
}
