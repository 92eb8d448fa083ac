package telemetry

import (
	"context"
	"errors"
	"net"

	"github.com/redlock-go/redlock"
)

// Instrument is a metric. docs/OBSERVING.md lists all.
type Instrument struct {
	Name   string
	Kind   Kind
	Unit   string
	About  string
	Labels []string  // its possible attributes, beside the name of the lock
	Bounds []float64 // of a histogram
}

// Kind is how an instrument aggregates measurements.
type Kind int

// The kinds. A histogram's measurements are in seconds.
const (
	Counter Kind = iota
	UpDown
	Gauge
	Histogram
)

// The attributes.
const (
	Mode    = "redlock.lock.mode"
	Outcome = "redlock.call.outcome"
	End     = "redlock.hold.end"
	Error   = "error.type"
	Address = "server.address"
	Port    = "server.port"
)

var (
	wait         = &Instrument{"redlock.wait.duration", Histogram, "s", "Duration of lock calls, until they got the lock or gave up.", []string{Mode, Outcome}, WaitBounds}
	acquisition  = &Instrument{"redlock.acquisition.duration", Histogram, "s", "Duration of the attempts that got a lock, without the wait before them.", []string{Mode}, TripBounds}
	hold         = &Instrument{"redlock.hold.duration", Histogram, "s", "Duration of holds.", []string{Mode, End}, HoldBounds}
	unlock       = &Instrument{"redlock.unlock.duration", Histogram, "s", "Duration of Unlock calls.", []string{Mode, Error}, TripBounds}
	call         = &Instrument{"redlock.master.call.duration", Histogram, "s", "Duration of batches of operations, until the master answered.", []string{Address, Port, Error}, TripBounds}
	acquisitions = &Instrument{"redlock.acquisitions", Counter, "{acquisition}", "Lock calls, by outcome.", []string{Mode, Outcome}, nil}
	failures     = &Instrument{"redlock.failed_attempts", Counter, "{attempt}", "Attempts that got no lock, by error type.", []string{Mode, Error}, nil}
	losses       = &Instrument{"redlock.losses", Counter, "{hold}", "Holds that ended before their Unlock, by cause.", []string{Mode, End}, nil}
	renewals     = &Instrument{"redlock.renewals", Counter, "{renewal}", "Renewals of leases; failed renewals have an error type.", []string{Mode, Error}, nil}
	jumps        = &Instrument{"redlock.clock.jumps", Counter, "{jump}", "Jumps of masters' clocks.", []string{Address, Port}, nil}
	refusals     = &Instrument{"redlock.master.refusals", Counter, "{refusal}", "How often a client found that a master may not vote, or that the reason changed.", []string{Address, Port}, nil}
	outages      = &Instrument{"redlock.members.outages", Counter, "{outage}", "Members that did not come back by themselves.", nil, nil}
	held         = &Instrument{"redlock.held", UpDown, "{lock}", "Locks that this process holds.", []string{Mode}, nil}
	up           = &Instrument{"redlock.master.up", Gauge, "{master}", "1 if the master can be used, otherwise 0.", []string{Address, Port}, nil}
	version      = &Instrument{"redlock.members.version", Gauge, "{version}", "Version of the table of members that the client uses.", nil, nil}

	// Instruments has all instruments.
	Instruments = []*Instrument{wait, acquisition, hold, unlock, call, acquisitions, failures, losses, renewals, jumps, refusals, outages, held, up, version}
)

// Recorder records a measurement. lock is the name of the lock, or "". values has a value for each
// label of the instrument; "" means that the label has no value.
type Recorder func(ctx context.Context, i *Instrument, value float64, lock string, values ...string)

// Observer returns an Observer that measures the locks of a client. If byName is true, metrics
// have the names of locks, and the counters of a name begin when the name is first requested.
func Observer(record Recorder, byName bool) redlock.Observer {
	background := context.Background()
	// Counters that alerts use start with 0. Otherwise they would start with
	// their first count, which Prometheus' increase() does not see.
	begin := func(lock string, reads bool) {
		for _, end := range []error{redlock.ErrLost, redlock.ErrExpired} {
			record(background, losses, 0, lock, mode(reads), ErrorType(end))
		}
		for _, reason := range []error{redlock.ErrNoQuorum, redlock.ErrNeedsInit, redlock.ErrDenied} {
			record(background, renewals, 0, lock, mode(reads), ErrorType(reason))
			record(background, failures, 0, lock, mode(reads), ErrorType(reason))
		}
	}
	beginName := begin
	if !byName {
		begin("", false)
		begin("", true)
		beginName = func(string, bool) {}
	}
	master := func(name string, isUp float64) {
		host, port := server(name)
		record(background, up, isUp, "", host, port)
		record(background, jumps, 0, "", host, port)
		record(background, refusals, 0, "", host, port)
	}
	return redlock.Observer{
		AttemptFailed: func(ctx context.Context, a redlock.FailedAttempt) {
			beginName(a.Name, a.Reads)
			record(ctx, failures, 1, a.Name, mode(a.Reads), ErrorType(a.Err))
		},
		Finished: func(ctx context.Context, r redlock.LockResult) {
			record(ctx, acquisitions, 1, r.Names[0], mode(r.Reads), OutcomeOf(r))
			record(ctx, wait, r.Took.Seconds(), r.Names[0], mode(r.Reads), OutcomeOf(r))
		},
		Acquired: func(ctx context.Context, a redlock.Acquisition) {
			beginName(a.Name, a.Reads)
			record(ctx, held, 1, a.Name, mode(a.Reads))
			record(ctx, acquisition, a.Took.Seconds(), a.Name, mode(a.Reads))
		},
		Renewed: func(ctx context.Context, r redlock.Renewal) { record(ctx, renewals, 1, r.Name, mode(r.Reads), "") },
		RenewalFailed: func(ctx context.Context, f redlock.FailedRenewal) {
			record(ctx, renewals, 1, f.Name, mode(f.Reads), ErrorType(f.Err))
		},
		Ended: func(ctx context.Context, e redlock.HoldEnd) {
			record(ctx, held, -1, e.Name, mode(e.Reads))
			record(ctx, hold, e.Held.Seconds(), e.Name, mode(e.Reads), ErrorType(e.Cause))
			if Lost(e.Cause) {
				record(ctx, losses, 1, e.Name, mode(e.Reads), ErrorType(e.Cause))
			}
		},
		Unlocked: func(ctx context.Context, u redlock.UnlockResult) {
			record(ctx, unlock, u.Took.Seconds(), u.Names[0], mode(u.Reads), failure(u.Err))
		},
		ClockJumped: func(ctx context.Context, j redlock.ClockJump) {
			host, port := server(j.Master)
			record(ctx, jumps, 1, "", host, port)
		},
		MasterCalled: func(c redlock.MasterCall) {
			host, port := server(c.Master)
			record(background, call, c.Took.Seconds(), "", host, port, failure(c.Err))
		},
		MasterUp:   func(s redlock.MasterStatus) { master(s.Master, 1) },
		MasterDown: func(s redlock.MasterStatus) { master(s.Master, 0) },
		NotAMember: func(s redlock.MasterStatus) {
			host, port := server(s.Master)
			record(background, refusals, 1, "", host, port)
		},
		MemberOut: func(redlock.MasterStatus) { record(background, outages, 1, "") },
		VersionLearned: func(t redlock.TableVersion) {
			record(background, version, float64(t.Version), "")
			record(background, outages, 0, "")
		},
	}
}

// OutcomeOf returns how a call ended, in one of a few words.
func OutcomeOf(r redlock.LockResult) string {
	switch {
	case r.Err != nil:
		return ErrorType(r.Err)
	case r.ReEntry:
		return "re-entered"
	}
	return "acquired"
}

// Lost reports whether a hold ended before its Unlock.
func Lost(cause error) bool {
	return errors.Is(cause, redlock.ErrLost) || errors.Is(cause, redlock.ErrExpired)
}

func mode(reads bool) string {
	if reads {
		return "read"
	}
	return "write"
}

// server returns the address and the port of a master. A master behind a socket or Sentinel has no port.
func server(master string) (host, port string) {
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		return master, ""
	}
	return host, port
}

func failure(err error) string {
	if err == nil {
		return ""
	}
	return ErrorType(err)
}
