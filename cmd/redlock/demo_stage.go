package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// stage is where the actors say what they do. The view looks at the scene, and the verdict is
// computed from the record.
type stage struct {
	opened time.Time // before any actor enters

	mu          sync.Mutex
	scene       scene
	record      record
	recorder    recorder
	pauseWanted bool
}

// scene is what there is to see at a moment.
type scene struct {
	at      time.Duration
	masters []masterState
	workers []workerScene
	holder  int // who was granted the lock last and has not given it back, or nobody
	until   time.Time
	granted []bool // by master, to the holder
	record  record
	events  []event // all so far
}

const nobody = -1

type masterState int

const (
	masterUp masterState = iota
	masterKilled
	masterFrozen
)

type workerScene struct {
	doing      doing
	woken      bool // it was paused, and is about to write
	since      time.Duration
	token      fence.Token
	increments int
	refused    int
}

type doing int

const (
	resting doing = iota
	waiting
	holding
	paused
)

// event is one line of the story. A minor one is what happens all the time.
type event struct {
	at        time.Duration
	who, what string
	minor     bool
	tone      tone
}

func newStage(masters, workers int) *stage {
	return &stage{scene: scene{
		masters: make([]masterState, masters),
		workers: make([]workerScene, workers),
		holder:  nobody,
		granted: make([]bool, masters),
	}}
}

// open starts the clock, and forgets what was done to get ready.
func (s *stage) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = time.Now()
	s.record = record{}
	s.recorder = recorder{on: s.recorder.on}
	for i := range s.scene.masters { // also those that no fault will hit have a lane
		s.recorder.add(0, history.Event{Kind: history.MasterUp, Master: fmt.Sprintf("m%d", i+1)})
	}
}

// look returns what there is to see now.
func (s *stage) look() scene {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.scene
	now.at = s.now()
	now.masters = slices.Clone(now.masters)
	now.workers = slices.Clone(now.workers)
	now.granted = slices.Clone(now.granted)
	now.record = s.record
	return now
}

// finish ends the performance and returns its record.
func (s *stage) finish() record {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.took = s.now()
	return s.record
}

func (s *stage) now() time.Duration { return time.Since(s.opened) }

// say adds an event. The caller holds mu.
func (s *stage) say(t tone, minor bool, who, format string, args ...any) {
	s.scene.events = append(s.scene.events, event{s.now(), who, fmt.Sprintf(format, args...), minor, t})
}

func (s *stage) tell(who, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say(plain, true, who, "%s", what)
}

// fail is for what nothing in the plan explains.
func (s *stage) fail(who string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.failures = append(s.record.failures, who+": "+oneLine(err))
	s.say(bad, false, who, "FAILED: %s", oneLine(err))
}

func (s *stage) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.interrupted = true
	s.say(bad, false, "you", "interrupted the demo")
}

// master shows what becomes of one.
func (s *stage) master(i int, state masterState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.scene.masters[i]
	s.scene.masters[i] = state
	s.recorder.master(s.now(), i, before, state)
	who := fmt.Sprintf("master %d", i+1)
	switch {
	case state == masterKilled:
		s.record.killed++
		s.say(bad, false, who, "is killed")
	case state == masterFrozen:
		s.record.frozen++
		s.say(warn, false, who, "is frozen: it takes requests and does not answer")
	case before == masterKilled:
		s.say(good, false, who, "is back, with its data")
	case before == masterFrozen:
		s.say(good, false, who, "goes on")
	}
}

func (s *stage) waits(worker int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(worker, waiting)
	s.recorder.newTurn(s.now(), worker)
}

func (s *stage) rests(worker int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(worker, resting)
}

// set shows what a worker does. The caller holds mu.
func (s *stage) set(worker int, d doing) {
	w := &s.scene.workers[worker]
	w.doing, w.since = d, s.now()
}

// gaveUp is told of a wait without success.
func (s *stage) gaveUp(worker int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorder.turn(s.now(), worker, history.Event{Kind: history.LockFailed, Err: history.ErrCanceled})
}

// acquired is told by the library, as soon as an acquisition is complete. took is the successful
// attempt's own time.
func (s *stage) acquired(worker int, token fence.Token, took time.Duration, votes []redlock.Vote) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.record.acquisitions = append(s.record.acquisitions, acquisition{worker, now - took, now, token})
	if s.pausedWorker() != nobody {
		s.say(plain, s.scene.holder != s.pausedWorker(), workerName(worker), "takes over, with token %v", token)
	}
	s.scene.holder = worker
	for i, v := range votes {
		s.scene.granted[i] = v.Answer == redlock.Granted
	}
}

// pausedWorker returns who is paused, or nobody. The caller holds mu.
func (s *stage) pausedWorker() int {
	return slices.IndexFunc(s.scene.workers, func(w workerScene) bool { return w.doing == paused })
}

func (s *stage) holds(worker int, lock *redlock.Lock) {
	until := lock.Until()
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &s.scene.workers[worker]
	s.record.longestWait = max(s.record.longestWait, s.now()-w.since)
	w.doing, w.since, w.token = holding, s.now(), lock.Token()
	s.recorder.turn(s.now(), worker, history.Event{Kind: history.LockHeld, Token: uint64(w.token), Depth: 1, Until: until.Sub(s.opened)})
	if s.scene.holder == worker {
		s.scene.until = until
	}
}

// told is what a worker hears when its lease ends before it has written.
func (s *stage) told(worker int, token fence.Token, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say(plain, true, workerName(worker), "stops, as its lease is over: nothing written")
	s.recorder.turn(s.now(), worker, history.Event{Kind: history.Told, Token: uint64(token), Err: classOf(cause)})
}

func (s *stage) leaves(worker int, token fence.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scene.workers[worker].doing = resting
	s.recorder.turn(s.now(), worker, history.Event{Kind: history.UnlockBegins, Token: uint64(token)})
	if s.scene.holder == worker {
		s.scene.holder = nobody
	}
}

// left is told how giving the lock back went.
func (s *stage) left(worker int, token fence.Token, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorder.turn(s.now(), worker, history.Event{Kind: history.UnlockEnds, Token: uint64(token), Err: classOf(err)})
	if err != nil {
		s.say(plain, true, workerName(worker), "is told at unlock: %s", summary(err))
	}
}

// wantPause asks that the next worker with the lock be paused.
func (s *stage) wantPause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pauseWanted = true
}

// takePause reports whether the holder is to be paused now.
func (s *stage) takePause(worker int, token fence.Token) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.pauseWanted {
		return false
	}
	s.pauseWanted = false
	s.record.paused++
	s.scene.workers[worker].doing = paused
	s.recorder.add(s.now(), history.Event{Kind: history.FaultBegins, Fault: "pause " + workerName(worker)})
	s.recorder.add(s.now(), history.Event{Kind: history.ClientStopped, Client: workerName(worker)})
	s.say(warn, false, workerName(worker), "is paused in mid-increment, with token %v", token)
	return true
}

func (s *stage) wakes(worker int, token fence.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &s.scene.workers[worker]
	w.doing, w.woken = holding, true // as it believes
	s.recorder.add(s.now(), history.Event{Kind: history.ClientGoesOn, Client: workerName(worker)})
	s.recorder.add(s.now(), history.Event{Kind: history.FaultEnds, Fault: "pause " + workerName(worker)})
	s.say(warn, false, workerName(worker), "wakes up and writes, as if it still had the lock")
}

// wroteBare is told of each write without a fence, and what it replaced; none fails.
func (s *stage) wroteBare(worker int, token fence.Token, value, replaced int, begun time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scene.workers[worker].woken {
		s.say(bad, false, workerName(worker), "writes where there is no fence: %d becomes %d", replaced, value)
	}
	s.recorder.wrote(begun.Sub(s.opened), s.now(), worker, history.Unguarded, token, value, nil)
	s.record.bareDone++
	s.record.bareFound = value
}

// wrote is told of each attempt to write value behind the fence.
func (s *stage) wrote(worker int, token fence.Token, value int, begun time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorder.wrote(begun.Sub(s.opened), s.now(), worker, demoFenced, token, value, err)
	w := &s.scene.workers[worker]
	who, announced := workerName(worker), w.woken
	w.woken = false
	switch stale, isStale := errors.AsType[*fence.StaleError](err); {
	case err == nil:
		s.record.done++
		s.record.found = value
		w.increments++
		s.say(plain, !announced, who, "increments to %d with token %v", value, token)
	case isStale:
		s.record.refused++
		w.refused++
		s.say(good, false, who, "is REFUSED: token %v is older than %v", token, stale.Highest)
	default:
		s.record.failures = append(s.record.failures, who+": "+oneLine(err))
		s.say(bad, false, who, "FAILED to write: %s", oneLine(err))
	}
}
