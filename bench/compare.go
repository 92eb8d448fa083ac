package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/report"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

// compare measures the workloads and contenders of the settings, and reports the results. A measurement that fails
// is an error, unless its server is not installed.
func compare(out io.Writer, s settings) error {
	var file io.Writer = io.Discard
	if s.out != "" {
		f, err := os.Create(s.out)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // a failed write has already returned its error
		file = f
	}
	if _, err := io.WriteString(file, report.Head()); err != nil {
		return err
	}
	r := &comparison{settings: s, file: file, peers: newPeers(), cells: report.Report{}, notRun: map[report.Subject]error{}}
	defer r.peers.stop()
	err := r.measureAll()
	if len(r.cells) == 0 {
		return errors.Join(err, errors.New("nothing was measured"))
	}
	fmt.Fprintf(out, "%s%d rounds of %v, medians, times in µs\n", report.Head(), s.rounds, s.cell)
	r.cells.WriteTable(out)
	r.cells.WriteAims(out)
	return err
}

// comparison is the state of compare.
type comparison struct {
	settings
	file   io.Writer
	peers  *peers
	cells  report.Report
	notRun map[report.Subject]error // the last error of each subject that could not be measured
}

// measureAll measures all cells. If exclusion was violated, measureAll ends at once. After other failures, it reports
// them and measures the remaining cells.
//
// Each repetition goes through all workloads, and for each workload through all contenders, so that disturbances by
// the machine affect all alike. Each repetition begins with a different contender than the one before.
func (r *comparison) measureAll() error {
	for round := range r.rounds {
		for _, w := range workload.All {
			if err := r.measureOne(w, round); err != nil {
				return fmt.Errorf("%s: %w", w.Name, err)
			}
		}
	}
	return errors.Join(slices.Collect(maps.Values(r.notRun))...)
}

func (r *comparison) measureOne(w workload.Workload, round int) error {
	var asked []report.Subject
	for i := range contender.All {
		c := contender.All[(i+round)%len(contender.All)]
		s := report.Subject{Workload: w.Name, Contender: c.Name}
		if r.workloads.MatchString(w.Name) && r.contenders.MatchString(c.Name) && w.Suits(c) && (!r.aims || report.Needed(s)) {
			asked = append(asked, s)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	masters, err := server.StartRedis(w.Masters, w.RoundTrip)
	if err != nil {
		return err
	}
	defer masters.Stop()
	for _, s := range asked {
		cell, err := r.peers.measure(w, contender.ByName(s.Contender), masters, r.cell)
		switch {
		case errors.Is(err, workload.ErrViolated):
			return fmt.Errorf("%s: %w", s.Contender, err)
		case err != nil:
			log.Printf("round %d/%d  %s  %s  NOT RUN: %v", round+1, r.rounds, s.Workload, s.Contender, err)
			if !errors.Is(err, server.ErrNotInstalled) {
				r.notRun[s] = fmt.Errorf("NOT RUN: %s, %s: %w", s.Workload, s.Contender, err)
			}
			continue
		}
		log.Printf("round %d/%d  %s  %s  %.0f/s", round+1, r.rounds, s.Workload, s.Contender, cell.PerSecond)
		r.cells[s] = append(r.cells[s], cell)
		if _, err := io.WriteString(r.file, report.Line(s, cell)); err != nil {
			return err
		}
	}
	return nil
}
