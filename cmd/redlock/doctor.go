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
	JSON bool `name:"json" help:"As one JSON object, for scripts."`
}

// Help is the long part of the help.
func (*doctorConfig) Help() string {
	return `Looks at all masters for about two seconds, and tells what is wrong for locks, why that matters, and what to do. It writes only keys of its own (PREFIX:doctor:RANDOM), which live for a second at most. But as any client, it gives a member that lost its data its place back, as a new one: that changes the table of members. The member votes when the max ttl has passed, if a client runs then.

Levels:

  ok       as it should be
  note     it works, but you should know it
  warning  locks work now, but are less available than you think, or may stop
  fault    locks do not work with it, or not as promised

It checks: answer and password; version; role (no replica, Sentinel or cluster node); whether masters fail independently; writes; eviction and memory; what a restart forgets; clocks; the user's rights; how fast a master answers; how many masters and members there are; who does not vote, and why.

--json prints one object:

  level     the worst level of all findings
  findings  an array, of each: master, its address, or "" of all together;
            check, what was looked at, in one word; level; what; why, it
            matters for a lock, and do, what to do about it, both "" if ok
` + statusHelp(
		statusRow{exitOK, "nothing is worse than a note"},
		statusRow{exitWarning, "there is a warning, and no fault"},
		statusRow{exitFault, "there is a fault"},
		statusRow{exitUsage, "bad input"},
		notPrinted,
	)
}

func (cfg *doctorConfig) check() error { return cfg.deployment.check() }

func (cfg *doctorConfig) run() int {
	client, err := cfg.open()
	if err != nil {
		complain(err)
		return exitUsage
	}
	defer client.Close()
	var findings []finding
	add := func(title string, found []finding) {
		findings = append(findings, found...)
		if !cfg.JSON {
			printFindings(stdout, title, found)
		}
	}
	r := readAll(context.Background(), client, cfg.Masters, cfg.Prefix, func(m *masterReading) { add(m.name, masterFindings(m)) })
	add("All together", togetherFindings(r))
	if cfg.JSON {
		printJSON(stdout, doctorJSON{worst(findings), findings})
	} else {
		printCounts(stdout, findings)
	}
	switch worst(findings) {
	case levelFault:
		return exitFault
	case levelWarning:
		return exitWarning
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

// printFindings prints those of one master, or of all together, for people.
func printFindings(w io.Writer, title string, findings []finding) {
	fmt.Fprintln(w, title)
	for _, f := range findings {
		what := f.What
		if f.Master != "" && f.Master != title {
			what = f.Master + ": " + what
		}
		fmt.Fprintf(w, "  %-7s  %s: %s\n", f.Level, f.Check, what)
		if f.Level != levelOK {
			fmt.Fprintf(w, "           why: %s\n           do:  %s\n", f.Why, f.Do)
		}
	}
	fmt.Fprintln(w)
}

// printCounts prints how many there are of each level.
func printCounts(w io.Writer, findings []finding) {
	count := map[level]int{}
	for _, f := range findings {
		count[f.Level]++
	}
	fmt.Fprintf(w, "%s, %s, %s\n", counted(count[levelFault], "fault"), counted(count[levelWarning], "warning"), counted(count[levelNote], "note"))
}
