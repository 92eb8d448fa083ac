//go:build unix

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/embedded"
)

// embeddedMasters is how many --embedded starts: as many as a deployment has as
// a rule.
const embeddedMasters = 5

// connect makes the client that the arguments ask for, which tells waiting why each
// attempt of a wait failed, and a function that ends it.
func connect(cfg *runConfig, waiting func(name string, err error)) (*redlock.Client, func(), error) {
	urls, stop := cfg.Masters, func() {}
	if cfg.Embedded {
		var err error
		if urls, stop, err = startEmbedded(); err != nil {
			return nil, nil, err
		}
		fmt.Fprintf(os.Stderr, "redlock: --embedded: masters inside this process, which protect from nothing once it ends; until then others may contend with --masters %s\n",
			strings.Join(urls, ","))
	}
	var observer redlock.Observer
	if cfg.Verbose {
		observer = teller()
	}
	observer.Waiting = waiting
	client, err := redlock.Open(urls, append(cfg.options(), redlock.WithObserver(observer))...)
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
		Acquired: func(name string, token fence.Token, took time.Duration, votes []redlock.Vote) {
			say("%q acquired with token %v in %v: %s", name, token, took.Round(time.Microsecond), list(votes))
		},
		Renewed: func(name string, token fence.Token, validFor time.Duration) {
			say("%q renewed for %v", name, validFor.Round(time.Millisecond))
		},
		Ended: func(name string, token fence.Token, cause error) {
			if errors.Is(cause, redlock.ErrReleased) {
				say("%q released", name)
			}
		},
		ClockJumped: func(master, name string, by time.Duration) {
			say("the clock of %s jumped by %v", master, by)
		},
		MasterDown: func(master string, err error) { say("%s is down: %s", master, oneLine(err)) },
		MasterUp:   func(master string) { say("%s is up", master) },
		NotAMember: func(master string, err error) { say("%s does not vote: %s", master, oneLine(err)) },
		MemberChanged: func(address string, from, to redlock.MemberState) {
			say("member %s: %s, was %s", address, cmp.Or(to, "none"), cmp.Or(from, "none"))
		},
		VersionLearned: func(version int) { say("the table of members has version %d", version) },
	}
}

func list(votes []redlock.Vote) string {
	texts := make([]string, len(votes))
	for i, v := range votes {
		texts[i] = v.String()
	}
	return strings.Join(texts, "; ")
}
