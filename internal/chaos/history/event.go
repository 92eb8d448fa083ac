// Package history is what a chaos run leaves behind: one line of JSON for each thing that happened,
// written by the processes that saw it, all on one clock. The checks (internal/chaos/check) read
// nothing else.
package history

import "time"

// Kind says what happened. Who writes it, and which fields it sets beyond At, is told beside each;
// "begins" and "ends" of one call share Client and Call.
type Kind string

// Written by client processes. Client and Call are always set.
const (
	// LockBegins: Name, Waits (Lock, not TryLock), Reads (RLock or TryRLock), Depth (above 1: a
	// re-entry), Of (of a re-entry: the call by which its hold was had; of one of a set: the call
	// of its first name), TTL, Watched (the lease is renewed until the last unlock), Set (above 0:
	// it is one of so many names that are asked for together: each has a call of its own).
	LockBegins Kind = "lock"
	// LockHeld ends it: Name, Token (0: the hold reads), Last (of a fresh hold that reads: its
	// LastToken), Depth, Until (end of the lease as the holder computed it), Owners (of a fresh
	// hold: the id of the acquisition).
	LockHeld Kind = "held"
	// LockFailed ends it: Name, Err.
	LockFailed Kind = "failed"
	// Renewed: Name, Token, Until. Call is that of the LockHeld.
	Renewed Kind = "renewed"
	// Told: the context of an entry ended before the client left: Name, Token, Err (lost, expired,
	// or canceled by the client itself), Until (votes of renewals that did not succeed count too,
	// and add up). Call is that of the LockHeld of that entry.
	Told Kind = "told"
	// UnlockBegins and UnlockEnds: Name, Token, Depth (entries left after it), Err (empty: freed in
	// time), Until (votes of renewals that did not succeed count too; that of UnlockEnds is of the
	// entries that are left). Call is that of the LockHeld of that entry.
	UnlockBegins Kind = "unlock"
	UnlockEnds   Kind = "unlocked"
	// DowngradeBegins and DowngradeEnds: Name, Token, Err (empty: a quorum of masters has done it),
	// Until. The hold reads from the begin on, or is over. Call is that of the LockHeld of an
	// entry. Token is what that LockHeld had, here and in all events of the entry.
	DowngradeBegins Kind = "downgrade"
	DowngradeEnds   Kind = "downgraded"
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
	// Members: Masters, those that are members now, all of which vote.
	Members Kind = "members"
	// FaultBegins and FaultEnds: Fault, the printable name with its parameters; and FaultEnds Err,
	// why it could not be applied, or not as it should.
	FaultBegins Kind = "fault"
	FaultEnds   Kind = "healed"
	// Of a master: Master; MasterClock also Offset, MasterDown also Lost.
	MasterUp     Kind = "up"
	MasterDown   Kind = "down"
	MasterFrozen Kind = "frozen"
	MasterThawed Kind = "thawed"
	MasterClock  Kind = "clock"
	MasterWiped  Kind = "wiped"
	// Of an operator who takes a lock from whoever an inspection showed: Call, Name. ForceBegins
	// also Owners (those that it takes the lock from, with spaces between), Token (that of the
	// holder that a quorum named; 0: it named none). ForceEnds also Token (0: none was returned),
	// Err.
	ForceBegins Kind = "force"
	ForceEnds   Kind = "forced"
	// Of a client process: Client; ClientStarts also Masters, those that it names (empty: as when
	// it was started before; all, if it was not).
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
	ErrUpgrade  = "upgrade" // who reads asked to write
	ErrRefused  = "refused" // by a guard: a newer holder has claimed the resource
	ErrUnknown  = "unknown" // the store gave no answer: it may have been done
)

// Log takes events. It must be safe for concurrent use.
type Log interface {
	// Write keeps the event. One whose At is 0 happens now.
	Write(Event)

	// Now returns the time since the start of the run.
	Now() time.Duration
}

// Event is one thing that happened.
type Event struct {
	// At is when, since the start of the run, by the machine's CLOCK_BOOTTIME: one clock for all
	// processes, which no fault touches.
	At   time.Duration `json:"at"`
	Kind Kind          `json:"kind"`

	Client  string        `json:"client,omitempty"`
	Call    int64         `json:"call,omitempty"`
	Name    string        `json:"name,omitempty"`
	Waits   bool          `json:"waits,omitempty"`
	Reads   bool          `json:"reads,omitempty"`
	Of      int64         `json:"of,omitempty"`
	Set     int           `json:"set,omitempty"`
	Watched bool          `json:"watched,omitempty"`
	TTL     time.Duration `json:"ttl,omitempty"`
	Token   uint64        `json:"token,omitempty"`
	Last    uint64        `json:"last,omitempty"`
	Owners  string        `json:"owners,omitempty"`
	Depth   int           `json:"depth,omitempty"`
	Until   time.Duration `json:"until,omitempty"` // on At's clock
	Err     string        `json:"err,omitempty"`
	Store   string        `json:"store,omitempty"`
	Value   int64         `json:"value,omitempty"`

	Phase   string        `json:"phase,omitempty"`
	Fault   string        `json:"fault,omitempty"`
	Master  string        `json:"master,omitempty"`  // "m0", "m1", …
	Masters string        `json:"masters,omitempty"` // "m0+m1"
	Lost    bool          `json:"lost,omitempty"`    // it went down, and what it knew is gone
	Offset  time.Duration `json:"offset,omitempty"`  // of a master's clock
}
