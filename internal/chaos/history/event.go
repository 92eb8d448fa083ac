// Package history records a chaos run: the process that sees an event writes one line of JSON, with the time of a
// clock that all processes share. The checks (internal/chaos/check) read nothing else.
package history

import "time"

// Kind is the kind of an event. The comments below name the writer of each kind, and the fields of its events besides
// At. The beginning and the end of one call share Client and Call.
type Kind string

// Written by client processes. Client and Call are always set.
const (
	// LockBegins: Name, Waits (Lock, not TryLock), Reads (RLock or TryRLock), Depth (above 1: a
	// re-entry), Of (of a re-entry: the call that acquired the hold; in a set: the call for the
	// first name), TTL, Watched (the lease is renewed until the last unlock), Set (the number of
	// names that are requested together, each with its own call; 0 for one name).
	LockBegins Kind = "lock"
	// LockHeld ends the call: Name, Token (0: a reader's hold), Last (for a reader's fresh hold: LastToken), Depth,
	// Until (end of the lease as the holder computed it), Owners (for a fresh hold: the id of the acquisition).
	LockHeld Kind = "held"
	// LockFailed ends the call: Name, Err.
	LockFailed Kind = "failed"
	// Renewed: Name, Token, Until. Call is the Call of the hold's LockHeld.
	Renewed Kind = "renewed"
	// ContextEnded: the context of an entry ended before the client unlocked the entry: Name, Token, Err (lost,
	// expired, or canceled by the client itself), Until (the votes of failed renewals count, too: together they may
	// prolong the lease). Call is the Call of the entry's LockHeld.
	ContextEnded Kind = "context-ended"
	// UnlockBegins and UnlockEnds: Name, Token, Depth (how many entries remain), Err (empty: freed in time), Until (as
	// in ContextEnded; in UnlockEnds, for the remaining entries). Call is the Call of the entry's LockHeld.
	UnlockBegins Kind = "unlock"
	UnlockEnds   Kind = "unlocked"
	// DowngradeBegins and DowngradeEnds: Name, Token, Err (empty: done on a quorum of masters), Until. From
	// DowngradeBegins on, the hold is a reader's, or has ended. Call and Token are the Call and Token of an entry's
	// LockHeld. All events of that entry have the same Token.
	DowngradeBegins Kind = "downgrade"
	DowngradeEnds   Kind = "downgraded"
	// WriteBegins: Store, Name (the resource), Token, Value.
	WriteBegins Kind = "write"
	// WriteEnds: Store, Name, Token, Value, Err (empty, refused, unknown).
	WriteEnds Kind = "wrote"
	// ReadBegins: Store, Name, Token (0: the read claims nothing).
	ReadBegins Kind = "read"
	// ReadEnds: Store, Name, Token, Value, Err.
	ReadEnds Kind = "saw"
)

// Written by the harness.
const (
	// PhaseBegins: Phase.
	PhaseBegins Kind = "phase"
	// Members: Masters, the present members, all of which vote.
	Members Kind = "members"
	// FaultBegins and FaultEnds: Fault, its text with parameters. FaultEnds also has Err, the reason why the fault
	// could not be applied or healed as planned.
	FaultBegins Kind = "fault"
	FaultEnds   Kind = "healed"
	// Events of a master: Master. MasterClock also has Offset, and MasterDown also has Lost.
	MasterUp     Kind = "up"
	MasterDown   Kind = "down"
	MasterFrozen Kind = "frozen"
	MasterThawed Kind = "thawed"
	MasterClock  Kind = "clock"
	MasterWiped  Kind = "wiped"
	// Events of an operator who takes a lock from the holders that an inspection showed: Call, Name. ForceBegins also
	// has Owners (the owners that lose the lock, with spaces between) and Token (of the holder that a quorum named, or
	// 0). ForceEnds also has Token (0: none was returned) and Err.
	ForceBegins Kind = "force"
	ForceEnds   Kind = "forced"
	// Events of a client process: Client. ClientStarts also has Masters, the client's list of masters (if empty: the
	// list of the previous start or, at the first start, all masters).
	ClientStarts  Kind = "client-starts"
	ClientKilled  Kind = "client-killed"
	ClientStopped Kind = "client-stopped" // SIGSTOP
	ClientGoesOn  Kind = "client-goes-on" // SIGCONT
)

// The phases of a run.
const (
	InModel    = "in-model"     // no two valid claims may overlap
	OutOfModel = "out-of-model" // valid claims may overlap; a run without an overlap proves nothing
	Healed     = "healed"       // everything must become lockable again
)

// The stores that clients write to.
const (
	RedisGuarded    = "redis, guarded"
	PostgresGuarded = "postgres, guarded"
	Unguarded       = "unguarded"
)

// The classes of errors, in Err.
const (
	ErrHeld     = "held"
	ErrNoQuorum = "no quorum"
	ErrTooSlow  = "too slow"
	ErrCanceled = "canceled"
	ErrLost     = "lost"
	ErrExpired  = "expired"
	ErrReleased = "released"
	ErrUpgrade  = "upgrade" // a reader asked to write
	ErrRefused  = "refused" // by a guard: a newer holder has claimed the resource
	ErrUnknown  = "unknown" // the store did not answer: the access may have been done
)

// Log receives events. It must be safe for concurrent use.
type Log interface {
	// Write records the event. An At of 0 means now.
	Write(Event)

	// Now returns the time since the start of the run.
	Now() time.Duration
}

// Event is one event of the run.
type Event struct {
	// At is the time since the start of the run, by the machine's CLOCK_BOOTTIME. All processes share this clock, and
	// no fault changes it.
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
	Lost    bool          `json:"lost,omitempty"`    // the master went down, and its data is lost
	Offset  time.Duration `json:"offset,omitempty"`  // of a master's clock
}
