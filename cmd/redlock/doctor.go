package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
)

// doctorConfig is redlock doctor.
type doctorConfig struct {
	deployment
	JSON bool `name:"json" help:"As one JSON object, for scripts; see above."`
}

// Help is the long part of the help.
func (*doctorConfig) Help() string {
	return `Looks at each master and at all together, and tells what is wrong for locks, why that matters, and what to do. It takes about two seconds. It changes nothing on the masters, but for one key of its own (PREFIX:doctor:RANDOM), which lives for a second at most. It runs for long enough to begin what any client does: a member that lost its data gets its place back as a new one, which changes the table of members. It votes when the max ttl has passed, if a client runs then.

Levels:

  ok       as it should be
  note     it works; know it
  warning  locks work now, and are less available, or may stop, than you think
  fault    locks do not work with it, or not as promised

What it looks at: whether a master answers and takes the password; its version; its role (no replica, Sentinel or cluster node); whether masters fail independently; eviction and memory; what a restart forgets; clocks, against this host's and the others'; what its user may do; how fast it answers; how many masters and members there are; who does not vote, and why.

--json prints one object:

  level     the worst level of all findings
  findings  an array, of each: master, its address, or "" of all together;
            check, what was looked at, in one word; level; what; why, it
            matters for a lock, and do, what to do about it, both "" if ok
` + statusHelp(
		statusRow{exitOK, "nothing is worse than a note"},
		statusRow{exitFailed, "there is a warning or a fault"},
		statusRow{exitUsage, "bad input"},
		notPrinted,
	)
}

func (cfg *doctorConfig) check() error { return cfg.deployment.check(false) }

func (cfg *doctorConfig) run() int {
	client, err := cfg.open()
	if err != nil {
		complain(err)
		return exitUsage
	}
	defer client.Close()
	findings := examine(readAll(context.Background(), client, cfg.Masters, cfg.Prefix))
	if cfg.JSON {
		printJSON(stdout, doctorJSON{worst(findings), findings})
	} else {
		printFindings(stdout, findings)
	}
	if worst(findings) > levelNote {
		return exitFailed
	}
	return exitOK
}

// level is how bad a finding is.
type level int

const (
	levelOK level = iota
	levelNote
	levelWarning
	levelFault
)

var levelNames = [...]string{levelOK: "ok", levelNote: "note", levelWarning: "warning", levelFault: "fault"}

func (l level) String() string { return levelNames[l] }

// MarshalText makes the word of it in JSON.
func (l level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// finding is what was found out by one check. The names in JSON are for scripts: they stay.
type finding struct {
	Master string `json:"master"` // "": all together
	Check  string `json:"check"`
	Level  level  `json:"level"`
	What   string `json:"what"`
	Why    string `json:"why"`
	Do     string `json:"do"`
}

// doctorJSON is the object that --json prints. The help describes it.
type doctorJSON struct {
	Level    level     `json:"level"`
	Findings []finding `json:"findings"`
}

func worst(findings []finding) level {
	if len(findings) == 0 {
		return levelOK
	}
	return slices.MaxFunc(findings, func(a, b finding) int { return cmp.Compare(a.Level, b.Level) }).Level
}

// printFindings prints them for people: those of one master together, in the order in which
// they come.
func printFindings(w io.Writer, findings []finding) {
	count := map[level]int{}
	for i, f := range findings {
		if i > 0 && f.Master != findings[i-1].Master {
			fmt.Fprintln(w)
		}
		if i == 0 || f.Master != findings[i-1].Master {
			fmt.Fprintln(w, cmp.Or(f.Master, "All together"))
		}
		count[f.Level]++
		fmt.Fprintf(w, "  %-7s  %s: %s\n", f.Level, f.Check, f.What)
		if f.Level != levelOK {
			fmt.Fprintf(w, "           why: %s\n           do:  %s\n", f.Why, f.Do)
		}
	}
	fmt.Fprintf(w, "\n%s, %s, %s\n", counted(count[levelFault], "fault"), counted(count[levelWarning], "warning"), counted(count[levelNote], "note"))
}
