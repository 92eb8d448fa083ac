package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
)

// doctorConfig holds the arguments of redlock doctor.
type doctorConfig struct {
	deployment
	JSON bool `name:"json" help:"Print one JSON object."`
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

// MarshalText makes the level a word in JSON.
func (l level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// finding is the result of one check. Scripts rely on the names in JSON: do not change them.
type finding struct {
	Master string `json:"master"` // "": all masters together
	Check  string `json:"check"`
	Level  level  `json:"level"`
	What   string `json:"what"`
	Why    string `json:"why"`
	Do     string `json:"do"`

	noVote bool // the vote of the master is missing
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

// printFindings prints the findings on one master, or on all together, for people.
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

// printCounts prints how many findings there are of each level.
func printCounts(w io.Writer, findings []finding) {
	count := map[level]int{}
	for _, f := range findings {
		count[f.Level]++
	}
	fmt.Fprintf(w, "%s, %s, %s\n", counted(count[levelFault], "fault"), counted(count[levelWarning], "warning"), counted(count[levelNote], "note"))
}
