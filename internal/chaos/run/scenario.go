//go:build unix

package run

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/fault"
)

// Scenario is a fixed schedule with its setup. A run with a scenario has one round, which draws no faults.
type Scenario struct {
	Name string

	Lists  [][]int         // by client: the masters in its list; nil: as in other rounds
	Later  [][]int         // the lists after a client's restart; nil: as before
	Fsync  cluster.Fsync   // empty: every write is on disk
	Clocks []time.Duration // by master: how far its clock is ahead from the start on

	// Passwords makes clients log in as fault.User: with the old password, and after a restart with the new password.
	Passwords bool

	Strangers []Stranger

	// Faults are in the form that a run prints. Faults that begin before the time InModel must not make claims overlap,
	// even if the method fault.Schedule.InModel returns false for them.
	Faults              string
	InModel, OutOfModel time.Duration

	// Inits is the least number of times that init runs by force. There may be more: a fast machine repairs one loss
	// before the next loss, which then needs another init.
	Inits int

	Changes int       // at least so many changes of members must be made during the faults
	Serves  []Service // when clients must be served in spite of the faults
}

// Stranger is a spare that belongs to another deployment.
type Stranger struct {
	Master int
	Prefix string // empty: the clients' prefix
}

// Service is a span of time, counted from the start of the first phase, in which each of the clients must
// lock something.
type Service struct {
	Clients  fault.Clients
	From, To time.Duration
}

// Scenarios has all scenarios.
var Scenarios = []Scenario{
	{
		// Each half of the clients names three of the five members. The two lists have one member in common.
		Name:    "lists",
		Lists:   [][]int{{0, 1, 2}, {2, 3, 4}},
		Faults:  "1s kill(m2,kept,300ms); 3s partition(c0+c1,m2,to-client,500ms); 5s drop-reply(*,m0+m1+m2+m3+m4,3,1s)",
		InModel: 7 * time.Second,
	},
	{
		// Nothing is on disk. All masters are restarted: first one after the other, then all at once. Then all masters
		// are emptied.
		Name:  "all-lost",
		Fsync: cluster.None,
		Faults: "1s rolling-restart(m0+m1+m2+m3+m4,50ms); 3s init(m0+m1+m2+m3+m4); " +
			"7s kill(m0+m1+m2+m3+m4,kept,100ms); 7.5s init(m0+m1+m2+m3+m4); " +
			"11s flushall(m0+m1+m2+m3+m4); 11.1s init(m0+m1+m2+m3+m4)",
		InModel: 14 * time.Second,
		Inits:   1,
	},
	{
		// Nothing is on disk. Minorities are restarted, and recover by themselves.
		Name:    "some-lost",
		Fsync:   cluster.None,
		Faults:  "1s kill(m0+m1,kept,100ms); 5s rolling-restart(m2+m3,100ms); 12s flushall(m4+m0)",
		InModel: 15 * time.Second,
	},
	{
		// Most clocks jump, and are set right, in the middle of changes of the members. Leases are not safe, but tokens
		// are.
		Name: "clocks",
		Faults: "500ms replace(m0,m5,0s,1s); 700ms clock(m1+m2+m3,1m,1s); 1.2s strobe(m4+m5,-20s,200ms,2s); " +
			"3.5s suspend(m1,0s,500ms); 3.5s replace(m2,m6,300ms,1s); 4s clock(m0+m1+m2+m3+m4+m5+m6,2m,700ms); 5s clock(m3+m4+m6,-1m,1s); " +
			"7s kill(m3,lost,100ms); 7s remove(m4,0s,500ms); 7.5s clock(m0+m1+m2,1h,500ms)",
		OutOfModel: 10 * time.Second,
	},
	{
		// Two clocks are wrong from the start, and set right in the middle of changes of the members. The clock of a
		// new member jumps forward.
		Name:   "few-clocks",
		Clocks: []time.Duration{time.Minute, 0, 30 * time.Second},
		Faults: "500ms replace(m1,m5,0s,1s); 800ms clock(m0,0s,0s); 900ms clock(m5,1h,2s); " +
			"4s remove(m4,200ms,500ms); 4.3s clock(m2,0s,0s); 7.5s kill(m3,lost,100ms); 7.6s suspend(m0,0s,1s)",
		InModel: 10 * time.Second,
	},
	{
		// A spare becomes a member, is removed, and becomes a member again. In between, all locks are granted by
		// members that no client reaches later.
		Name:  "twice",
		Lists: [][]int{{0, 1, 2, 3, 4, 5}},
		Faults: "0s partition(*,m3+m4,both,7200ms); 500ms replace(m0,m5,0s,0s); " +
			"7s replace(m0,m5,0s,20s); 7.2s partition(*,m1+m2,both,20s)",
		InModel: 12 * time.Second,
	},
	{
		// A new host takes the place of a member, and the old host is switched off. Half of the clients have the new
		// list from the start on. The other clients get this list when they are restarted. One client with the old list
		// is never restarted. It must lock as long as it reaches a majority of the members.
		Name:  "new-host",
		Lists: [][]int{{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, {5, 1, 2, 3, 4}, {5, 1, 2, 3, 4}},
		Later: [][]int{{5, 1, 2, 3, 4}},
		Faults: "500ms replace(m0,m5,200ms,1m); 1s kill-client(c0,200ms); 3s kill-client(c2,200ms); 4s kill(m0,kept,1m); " +
			"5s kill(m1,kept,3s); 9s flushall(m5)",
		InModel: 12 * time.Second,
		Changes: 1,
		Serves:  []Service{{"c1", 5 * time.Second, 8 * time.Second}, {fault.All, 5 * time.Second, 12 * time.Second}},
	},
	{
		// The deployment grows from five to seven members, and shrinks back. Two operators add each spare at the same
		// time, and later two operators remove it at the same time. Some operators are killed.
		Name: "grow-shrink",
		Faults: "500ms add(m5,150ms,6s); 500ms add(m5,0s,6s); 600ms add(m6,400ms,6s); 600ms add(m6,0s,6s); " +
			"1.5s kill(m0,kept,300ms); 5s kill(m2,lost,200ms); 9s kill(m1,kept,300ms)",
		InModel: 15 * time.Second,
		Changes: 4,
		Serves:  []Service{{fault.All, 3 * time.Second, 9 * time.Second}},
	},
	{
		// Backups of two members are restored, as the documentation describes. No client reaches m0 until m0 is
		// emptied. Later m0 is needed for a quorum with m3 and m4. m3 and m4 lack the same locks as the backup, because
		// no client reached them when these locks were granted. m1 is replaced before its backup is restored, and gets
		// its place back afterwards.
		Name:  "backup",
		Lists: [][]int{{0, 1, 2, 3, 4}},
		Faults: "0s partition(*,m3+m4,both,6s); 500ms restore(m0,3s,300ms); 600ms restore(m1,7s,300ms); 3.3s partition(*,m0,both,2700ms); " +
			"3.6s flushall(m0); 6s replace(m1,m5,0s,4s); 9s partition(*,m1+m2,both,3s)",
		InModel: 15 * time.Second,
		Changes: 2,
		Serves:  []Service{{fault.All, 0, 3300 * time.Millisecond}, {fault.All, 9 * time.Second, 12 * time.Second}},
	},
	{
		// The password of the clients is changed: the new password is added, the clients are restarted with it, and the
		// old password is removed. Then a minority of the masters refuses the new password for a while, then a
		// majority, and then all masters.
		Name:      "credentials",
		Passwords: true,
		Faults: "1s password(m0,both); 1.2s password(m1,both); 1.4s password(m2,both); 1.6s password(m3,both); 1.8s password(m4+m5+m6,both); " +
			"2s kill-client(c0+c1,100ms); 3s kill-client(c2+c3,100ms); 4s password(m0+m1,new); 4.3s password(m2+m3+m4+m5+m6,new); " +
			"6s refuse(m0+m1,3s); 7s refuse(m2,1s); 10s refuse(m0+m1+m2+m3+m4+m5+m6,1s)",
		InModel: 11 * time.Second,
		Serves: []Service{
			{fault.All, 0, 2 * time.Second}, {fault.All, 4300 * time.Millisecond, 7 * time.Second}, {fault.All, 8 * time.Second, 10 * time.Second},
		},
	},
	{
		// Most clients name masters of other deployments instead of members.
		Name:      "stranger",
		Strangers: []Stranger{{5, ""}, {6, "other"}},
		Lists:     [][]int{{0, 1, 2, 3, 4}, {0, 1, 2, 3, 5}, {6, 1, 2, 3, 4}, {0, 5, 2, 6, 4}},
		Faults:    "1s kill(m0,kept,1s); 4s freeze(m1,500ms); 6s kill(m5,lost,100ms); 7s flushall(m6); 8s flushall(m3+m4)",
		InModel:   11 * time.Second,
		Serves:    []Service{{fault.All, 2 * time.Second, 6 * time.Second}},
	},
}

// scenario returns the scenario that c names, and whether there is one. Rounds without a scenario have drawn faults.
func (c Config) scenario() (s Scenario, known bool) {
	i := slices.IndexFunc(Scenarios, func(s Scenario) bool { return s.Name == c.Scenario })
	if i < 0 {
		return Scenario{}, false
	}
	return Scenarios[i], true
}

// list returns the masters in the list of a client. life counts the starts of the client, from 1. By default, half of
// the clients name only the founders, one client also names a spare, and one names all masters.
func (s Scenario) list(client, life int) (masters []int) {
	if s.Later != nil && life > 1 {
		return slices.Clone(s.Later[client%len(s.Later)])
	}
	if s.Lists != nil {
		return slices.Clone(s.Lists[client%len(s.Lists)])
	}
	most := masterCount + max(0, client-clientCount/2+1)
	for n := range min(most, masterCount+spareCount) {
		masters = append(masters, n)
	}
	return masters
}

// always returns the masters that are in the client's list in all its lives.
func (s Scenario) always(client int) []int {
	later := s.list(client, 2)
	return slices.DeleteFunc(s.list(client, 1), func(n int) bool { return !slices.Contains(later, n) })
}
