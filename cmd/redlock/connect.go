//go:build unix

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
)

// connect returns a client for the arguments of redlock run. The client's observer records failed attempts in the
// longWait, and absent masters in the value of type away.
func connect(cfg *runConfig, waiting *longWait, away *away) (*redlock.Client, error) {
	observer := redlock.Observers(redlock.Observer{AttemptFailed: waiting.failed}, away.observer())
	if cfg.Verbose {
		observer = redlock.Observers(observer, verboseObserver())
	}
	return cfg.openClient(nil, append(cfg.options(), redlock.WithObserver(observer))...)
}

// verboseObserver returns an Observer that prints events on stderr, for --verbose.
func verboseObserver() redlock.Observer {
	printf := func(format string, args ...any) { complain(fmt.Errorf(format, args...)) }
	return redlock.Observer{
		Acquired: func(_ context.Context, a redlock.Acquisition) {
			printf("%q acquired with token %v in %v: %s", a.Name, a.Token, a.Took.Round(time.Microsecond), list(a.Votes))
		},
		Renewed: func(_ context.Context, r redlock.Renewal) {
			printf("%q renewed for %v", r.Name, r.ValidFor.Round(time.Millisecond))
		},
		RenewalFailed: func(_ context.Context, f redlock.FailedRenewal) {
			printf("%q not renewed, %v are left: %s", f.Name, f.ValidFor.Round(time.Millisecond), oneLine(f.Err))
		},
		Ended: func(_ context.Context, e redlock.HoldEnd) {
			if errors.Is(e.Cause, redlock.ErrReleased) {
				printf("%q released", e.Name)
			}
		},
		ClockJumped: func(_ context.Context, j redlock.ClockJump) {
			printf("the clock of %s jumped by %v", j.Master, j.By)
		},
		MasterDown: func(m redlock.MasterStatus) { printf("%s is down: %s", m.Master, oneLine(m.Err)) },
		MasterUp:   func(m redlock.MasterStatus) { printf("%s is up", m.Master) },
		NotAMember: func(m redlock.MasterStatus) { printf("%s does not vote: %s", m.Master, oneLine(m.Err)) },
		MemberOut:  func(m redlock.MasterStatus) { printf("member %s does not come back: %s", m.Master, oneLine(m.Err)) },
		MemberChanged: func(m redlock.MemberTransition) {
			printf("member %s: %s, was %s", m.Address, cmp.Or(m.To, "none"), cmp.Or(m.From, "none"))
		},
		VersionLearned: func(t redlock.TableVersion) { printf("the table of members has version %d", t.Version) },
	}
}

func list(votes []redlock.Vote) string {
	texts := make([]string, len(votes))
	for i, v := range votes {
		texts[i] = v.String()
	}
	return strings.Join(texts, "; ")
}
