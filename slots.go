package redlock

import "github.com/redlock-go/redlock/internal/acquire"

// WithSlots lets k callers (1 to 64) hold the name at a time. There are k locks, named "<name>~slot1" to
// "<name>~slot<k>". Lock, TryLock and Do take a free slot; Lock.Slot returns its number. Each slot has its own
// tokens, which cannot be compared with tokens of other slots. So a store has to guard each slot as a resource of
// its own, by Lock.Name. No call can lock a slot by its name.
//
// When no slot is free, Lock waits in the queues of all slots, and takes the first slot that becomes free.
// TryLock asks for one slot after the other, and may take k times as long as without slots. With a
// ctx that carries the lock of a slot, Lock and TryLock re-enter that slot.
//
// All callers must use the same k. Nothing checks this: if they use different ones, the largest k decides
// how many callers can hold the name. A name with WithSlots and the same name without it are two
// different locks.
func WithSlots(k int) LockOption {
	return lockOption(func(o *acquire.Options) { o.Slots, o.Given.Slots = k, true })
}

// WithoutSlots makes a call with WithSlots return an *OptionError, even if WithSlots is only the
// client's default. It is for code, such as an election, that gets options from elsewhere and
// needs a single holder of a name.
func WithoutSlots() LockOption {
	return lockOption(func(o *acquire.Options) { o.NoSlots = true })
}

// Slot returns the number of the lock's slot, from 1. For a lock without WithSlots it returns 0.
func (l *Lock) Slot() int {
	_, slot := acquire.SlotOf(l.Name())
	return slot
}
