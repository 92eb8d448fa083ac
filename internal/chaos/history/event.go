// Package history is what a chaos run leaves behind: one line of JSON for each
// thing that happened, written by the processes that saw it, all on one clock.
// The checks (internal/chaos/check) and the report (internal/chaos/report) read
// nothing else.
package history

import "time"

// Kind says what happened. Who writes it, and which fields it sets beyond At, is
// told beside each; "begins" and "ends" of one call share Client and Call.
type Kind string

// Written by client processes. Client and Call are always set.
const (
	// LockBegins: Name, Waits (Lock, not TryLock), Depth (above 1: a re-entry).
	LockBegins Kind = "lock"
	// LockHeld ends it: Name, Token, Depth, Until (end of the lease as the holder
	// computed it).
	LockHeld Kind = "held"
	// LockFailed ends it: Name, Err.
	LockFailed Kind = "failed"
	// Renewed: Name, Token, Until. Call is that of the LockHeld.
	Renewed Kind = "renewed"
	// Told: the context of the hold ended before the client left: Name, Token, Err
	// (lost, expired), Until (votes of renewals that did not succeed count too, and add
	// up). Call is that of the LockHeld.
	Told Kind = "told"
	// UnlockBegins and UnlockEnds: Name, Token, Depth (entries left after it), Err
	// (empty: freed in time). Call is that of the LockHeld of that entry.
	UnlockBegins Kind = "unlock"
	UnlockEnds   Kind = "unlocked"
	// WriteBegins: Store, Name (the resource), Token, Value.
	WriteBegins Kind = "write"
	// WriteEnds: Store, Name, Token, Value, Err (empty, refused, unknown).
	WriteEnds Kind = "wrote"
	// ReadBegins: Store, Name, Token (0: a read without a claim).
	ReadBegins Kind = "read"
	// ReadEnds: Store, Name, Token, Value, Err.
	ReadEnds Kind = "saw"
)

// Written by the harness.
const (
	// PhaseBegins: Phase.
	PhaseBegins Kind = "phase"
	// FaultBegins and FaultEnds: Fault, the printable name with its parameters.
	FaultBegins Kind = "fault"
	FaultEnds   Kind = "healed"
	// Of a master: Master; MasterClock also Offset, MasterDown also Lost.
	MasterUp     Kind = "up"
	MasterDown   Kind = "down"
	MasterFrozen Kind = "frozen"
	MasterThawed Kind = "thawed"
	MasterClock  Kind = "clock"
	MasterWiped  Kind = "wiped"
	// Of a client process: Client.
	ClientStarts  Kind = "client-starts"
	ClientKilled  Kind = "client-killed"
	ClientStopped Kind = "client-stopped" // SIGSTOP
	ClientGoesOn  Kind = "client-goes-on" // SIGCONT
)

// Phases of a run.
const (
	InModel    = "in-model"     // no two valid claims may overlap
	OutOfModel = "out-of-model" // they may, and must have for the run to prove anything
	Healed     = "healed"       // everything must become lockable again
)

// Stores that clients write to.
const (
	RedisGuarded    = "redis, guarded"
	PostgresGuarded = "postgres, guarded"
	Unguarded       = "unguarded"
)

// Classes of errors, in Err.
const (
	ErrHeld     = "held"
	ErrNoQuorum = "no quorum"
	ErrTooSlow  = "too slow"
	ErrCanceled = "canceled"
	ErrLost     = "lost"
	ErrExpired  = "expired"
	ErrReleased = "released"
	ErrRefused  = "refused" // by a guard: a newer holder has claimed the resource
	ErrUnknown  = "unknown" // the store gave no answer: it may have been done
)

// Event is one thing that happened.
type Event struct {
	// At is when, since the start of the run, by the machine's CLOCK_BOOTTIME: one
	// clock for all processes, which no fault touches.
	At   time.Duration `json:"at"`
	Kind Kind          `json:"kind"`

	Client string        `json:"client,omitempty"`
	Call   int64         `json:"call,omitempty"`
	Name   string        `json:"name,omitempty"`
	Waits  bool          `json:"waits,omitempty"`
	Token  uint64        `json:"token,omitempty"`
	Depth  int           `json:"depth,omitempty"`
	Until  time.Duration `json:"until,omitempty"` // on At's clock
	Err    string        `json:"err,omitempty"`
	Store  string        `json:"store,omitempty"`
	Value  int64         `json:"value,omitempty"`

	Phase  string        `json:"phase,omitempty"`
	Fault  string        `json:"fault,omitempty"`
	Master string        `json:"master,omitempty"` // "m0", "m1", …
	Lost   bool          `json:"lost,omitempty"`   // it went down, and what it knew is gone
	Offset time.Duration `json:"offset,omitempty"` // of a master's clock
}
