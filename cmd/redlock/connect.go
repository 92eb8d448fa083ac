//go:build unix

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/embedded"
)

// embeddedMasters is how many --embedded starts: as many as a deployment has as a rule.
const embeddedMasters = 5

// connect makes the client that the arguments ask for, which tells waiting why each attempt of a
// wait failed, and a function that ends it.
func connect(cfg *runConfig, failed func(context.Context, redlock.FailedAttempt)) (*redlock.Client, func(), error) {
	stop := func() {}
	if cfg.Embedded {
		var err error
		if cfg.Masters, stop, err = startEmbedded(); err != nil {
			return nil, nil, err
		}
		fmt.Fprintf(os.Stderr, "redlock: --embedded: masters inside this process, which protect from nothing once it ends; until then others may contend with --masters %s\n",
			strings.Join(cfg.Masters, ","))
	}
	var observer redlock.Observer
	if cfg.Verbose {
		observer = teller()
	}
	observer.AttemptFailed = failed
	client, err := cfg.openClient(nil, append(cfg.options(), redlock.WithObserver(observer))...)
	if err != nil {
		stop()
		return nil, nil, err
	}
	end := func() {
		_ = client.Close() // all it can report is a connection that was broken before
		stop()
	}
	if cfg.Embedded {
		if err := found(client); err != nil {
			end()
			return nil, nil, err
		}
	}
	return client, end, nil
}

// startEmbedded starts masters that other processes can reach too.
func startEmbedded() (urls []string, stop func(), err error) {
	var servers []*embedded.Server
	stop = func() {
		for _, s := range servers {
			s.Close()
		}
	}
	for range embeddedMasters {
		s, err := embedded.NewListening("127.0.0.1:0")
		if err != nil {
			stop()
			return nil, nil, err
		}
		servers = append(servers, s)
		urls = append(urls, "redis://"+s.Addr())
	}
	return urls, stop, nil
}

// teller tells on stderr what happens, for --verbose.
func teller() redlock.Observer {
	say := func(format string, args ...any) { complain(fmt.Errorf(format, args...)) }
	return redlock.Observer{
		Acquired: func(_ context.Context, a redlock.Acquisition) {
			say("%q acquired with token %v in %v: %s", a.Name, a.Token, a.Took.Round(time.Microsecond), list(a.Votes))
		},
		Renewed: func(_ context.Context, r redlock.Renewal) {
			say("%q renewed for %v", r.Name, r.ValidFor.Round(time.Millisecond))
		},
		RenewalFailed: func(_ context.Context, f redlock.FailedRenewal) {
			say("%q not renewed, %v are left: %s", f.Name, f.ValidFor.Round(time.Millisecond), oneLine(f.Err))
		},
		Ended: func(_ context.Context, e redlock.HoldEnd) {
			if errors.Is(e.Cause, redlock.ErrReleased) {
				say("%q released", e.Name)
			}
		},
		ClockJumped: func(_ context.Context, j redlock.ClockJump) {
			say("the clock of %s jumped by %v", j.Master, j.By)
		},
		MasterDown: func(m redlock.MasterStatus) { say("%s is down: %s", m.Master, oneLine(m.Err)) },
		MasterUp:   func(m redlock.MasterStatus) { say("%s is up", m.Master) },
		NotAMember: func(m redlock.MasterStatus) { say("%s does not vote: %s", m.Master, oneLine(m.Err)) },
		MemberOut:  func(m redlock.MasterStatus) { say("member %s does not come back: %s", m.Master, oneLine(m.Err)) },
		MemberChanged: func(m redlock.MemberTransition) {
			say("member %s: %s, was %s", m.Address, cmp.Or(m.To, "none"), cmp.Or(m.From, "none"))
		},
		VersionLearned: func(t redlock.TableVersion) { say("the table of members has version %d", t.Version) },
	}
}

func list(votes []redlock.Vote) string {
	texts := make([]string, len(votes))
	for i, v := range votes {
		texts[i] = v.String()
	}
	return strings.Join(texts, "; ")
}
