package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/report"
)

// demoFenced is the store behind the fence, in the report.
const demoFenced = "ledger, fenced"

// recorder keeps the history that a report is written from. The stage fills it, under its mutex.
// One that is off keeps nothing: a demo may last for hours.
type recorder struct {
	on     bool
	events []history.Event
	calls  int64         // begun so far
	turns  map[int]int64 // by worker, its present entry into the lock
}

// add keeps e, which happened at at.
func (r *recorder) add(at time.Duration, e history.Event) {
	if r.on {
		e.At = at
		r.events = append(r.events, e)
	}
}

// turn keeps an event of a worker's present entry into the lock.
func (r *recorder) turn(at time.Duration, worker int, e history.Event) {
	e.Client, e.Call, e.Name = workerName(worker), r.turns[worker], demoLock
	r.add(at, e)
}

// newTurn begins an entry into the lock.
func (r *recorder) newTurn(at time.Duration, worker int) {
	if r.turns == nil {
		r.turns = map[int]int64{}
	}
	r.calls++
	r.turns[worker] = r.calls
	r.turn(at, worker, history.Event{Kind: history.LockBegins, Waits: true, Depth: 1})
}

// wrote keeps a write that was begun at begun.
func (r *recorder) wrote(begun, at time.Duration, worker int, store string, token fence.Token, value int, err error) {
	r.calls++
	e := history.Event{Kind: history.WriteBegins, Client: workerName(worker), Call: r.calls, Store: store, Name: demoLock, Token: uint64(token), Value: int64(value)}
	r.add(begun, e)
	e.Kind, e.Err = history.WriteEnds, classOf(err)
	r.add(at, e)
}

// master keeps what becomes of one, and the fault that it is.
func (r *recorder) master(at time.Duration, i int, before, now masterState) {
	name := fmt.Sprintf("m%d", i+1)
	begins, ends := map[masterState]history.Kind{masterKilled: history.MasterDown, masterFrozen: history.MasterFrozen},
		map[masterState]history.Kind{masterKilled: history.MasterUp, masterFrozen: history.MasterThawed}
	fault := map[masterState]string{masterKilled: "kill " + name, masterFrozen: "freeze " + name}
	if now != masterUp {
		r.add(at, history.Event{Kind: history.FaultBegins, Fault: fault[now]})
		r.add(at, history.Event{Kind: begins[now], Master: name})
		return
	}
	r.add(at, history.Event{Kind: ends[before], Master: name})
	r.add(at, history.Event{Kind: history.FaultEnds, Fault: fault[before]})
}

// classOf is an error as histories tell it.
func classOf(err error) string {
	for class, is := range map[string]error{
		history.ErrExpired: redlock.ErrExpired, history.ErrLost: redlock.ErrLost, history.ErrReleased: redlock.ErrReleased,
		history.ErrRefused: fence.ErrStale,
	} {
		if errors.Is(err, is) {
			return class
		}
	}
	if err != nil {
		return history.ErrUnknown
	}
	return ""
}

// writeReport writes what was recorded to file and closes it.
func (d *demo) writeReport(file *os.File, v verdict) error {
	err := report.Write(file, d.report(v))
	return errors.Join(err, file.Close())
}

func (d *demo) report(v verdict) report.Run {
	command := fmt.Sprintf("redlock demo --seed %d --duration %v", *d.cfg.Seed, d.cfg.Duration)
	if d.cfg.Real {
		command += " --real"
	}
	r := report.Run{
		Title:   fmt.Sprintf("redlock demo: %d %s masters, %d workers, one lock", demoMasters, d.kind, demoWorkers),
		Started: d.stage.opened,
		Seed:    *d.cfg.Seed,
		Command: command,
		Events:  d.stage.recorder.events,
		Figures: []report.Figure{
			{Label: "increments done", Value: fmt.Sprint(v.IncrementsDone)},
			{Label: "increments found", Value: fmt.Sprint(v.IncrementsFound)},
			{Label: "tokens", Value: fmt.Sprint(v.Tokens)},
			{Label: "stale writes refused", Value: fmt.Sprint(v.StaleRefused)},
			{Label: "lost without a fence", Value: fmt.Sprint(v.UnfencedLost)},
			{Label: "kills of masters", Value: fmt.Sprint(v.MastersKilled)},
			{Label: "freezes of masters", Value: fmt.Sprint(v.MastersFrozen)},
			{Label: "pauses of holders", Value: fmt.Sprint(v.HoldersPaused)},
			{Label: "longest wait", Value: fmt.Sprintf("%.2f s", float64(v.LongestWaitMS)/1000)},
		},
	}
	if v.Interrupted {
		r.Violations = append(r.Violations, "the demo was interrupted: the checks saw only part of it")
	}
	for _, c := range v.Checks {
		if !c.OK {
			r.Violations = append(r.Violations, c.Name+": "+c.Detail)
		}
	}
	return r
}
