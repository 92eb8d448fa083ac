// Package fence defines the fencing token, and the contract of the guards that compare tokens. A
// store that has a guard refuses the writes of an overtaken holder. The package imports no lock
// client, so a service that only guards a store needs no lock client either.
//
// A lock alone cannot protect a store. Its holder may be paused after it has checked the lock and
// before its write arrives, and continue while another client holds the lock. The token can protect
// the store: it grows with every holder, it is sent with every write, and the store refuses a token
// lower than one it has seen. The documentation of Guard defines what a guard and its callers must
// do.
//
// A token belongs to one lock name: the order of two tokens means something only if both belong to the same name. So
// write each guarded resource under one lock name only. The simplest way is to give the lock and the resource the
// same name. Suppose that a resource is written under two names, a and b, and that b has the higher tokens. Then the
// valid holder of a is refused once b's holder has claimed the resource, and after a claim by a's holder an overtaken
// holder of b may pass. A guard cannot detect such a mistake, because a token contains no name. CheckLockName detects
// it: call CheckLockName when a program starts, for each resource that the program writes.
//
// Not promised: that a token is authentic. It is a plain number, and a client that may write to a guarded
// store may also claim with a huge token and so fence off all others for good.
package fence
