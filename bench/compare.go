package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/exclusion"
	"github.com/redlock-go/redlock/bench/internal/report"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

// compare measures all that the settings ask for, and reports it.
func compare(out io.Writer, s settings, args []string) error {
	r := report.New(args, s.cell, s.rounds)
	if err := measureAll(s, r); err != nil {
		return err
	}
	r.WriteTable(out)
	r.WriteAims(out)
	if len(r.Results) == 0 {
		return errors.New("nothing was measured")
	}
	return errors.Join(keep(s.out, "results.json", r.WriteJSON), r.Err())
}

// keep writes what was measured, and plots of it, to the folder, if there is one.
func keep(dir, name string, write func(path string) error) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := write(filepath.Join(dir, name)); err != nil {
		return err
	}
	return draw(dir)
}

// draw has the program in the folder plots draw what is in the folder.
func draw(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	output, err := exec.Command("go", "run", "-C", "plots", ".", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("plots: %w\n%s", err, output)
	}
	return nil
}

// measureAll ends at once when a lock was none. What cannot be measured for another reason is
// reported, and the others still are.
//
// It goes round by round through all workloads, and in each through all contenders, so that what
// the machine does beside it hits all alike. Each round begins with another contender.
func measureAll(s settings, r *report.Report) (err error) {
	others, err := newSupport()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, others.stop()) }()
	for round := range s.rounds {
		for _, w := range workload.All() {
			if s.measures(w) {
				if err := measureOne(s, r, others, w, round); err != nil {
					return fmt.Errorf("%s: %w", w.Name, err)
				}
			}
		}
	}
	return nil
}

func (s settings) measures(w workload.Workload) bool {
	return s.workloads.MatchString(w.Name) &&
		slices.ContainsFunc(contender.All, func(c contender.Contender) bool { return s.measuresOf(w, c) })
}

func (s settings) measuresOf(w workload.Workload, c contender.Contender) bool {
	return s.contenders.MatchString(c.Name) && w.Suits(c) && (!s.aims || report.Needed(w.Name, c.Name))
}

func measureOne(s settings, r *report.Report, others *support, w workload.Workload, round int) error {
	masters, err := server.StartRedis(w.Redis)
	if err != nil {
		return err
	}
	defer masters.Stop()
	n := len(contender.All)
	for i := range n {
		c := contender.All[(i+round)%n]
		if !s.measuresOf(w, c) {
			continue
		}
		program, err := others.program(c)
		if err != nil {
			r.NotRun(c.Name, err)
			continue
		}
		on, err := others.of(c, program, masters)
		if err != nil {
			r.NotRun(c.Name, err)
			continue
		}
		r.MadeWith(program)
		cell, err := workload.Measure(w, c, program, on, s.cell)
		if errors.Is(err, exclusion.ErrViolated) {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		if err != nil {
			log.Printf("round %d/%d  %s  %s  NOT RUN: %v", round+1, s.rounds, w.Name, c.Name, err)
			r.NotRun(c.Name+", "+w.Name, err)
			continue
		}
		log.Printf("round %d/%d  %s  %s  %.0f/s, %.2f cores", round+1, s.rounds, w.Name, c.Name, cell.PerSecond, cell.ClientCores+cell.ServerCores)
		r.Add(w, c.Name, cell)
	}
	return nil
}
