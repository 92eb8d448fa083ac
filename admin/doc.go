// Package admin is for the operators of a deployment: they found it, change its members, look who
// holds a lock, and take a lock by force. A program that only locks needs none of this.
//
//	client, err := redlock.Open(urls)
//	...
//	err = admin.Init(ctx, client, 0) // once, before the first lock
//
// Every function is a call of the client that it is given: it uses that client's masters, prefix
// and request timeout, and it returns redlock.ErrClosed when the client is closed. It panics if the
// client is nil or zero, or if ctx is nil. The client stays usable for locks, and any client of the
// same masters will do. The command redlock does the same from a shell (docs/CLI.md).
//
// Nothing here tells what is so, only what was so when the masters were asked. No decision about a
// lock may depend on it: that is what Lock.Context, the token and Client.Verify are for.
package admin

// The operations that a redlock.QuorumError names.
const (
	opInspect = "inspect"
	opNames   = "list the names"
	opMembers = "learn the members"
)

// noName is the name of no lock, for a question that is about none.
const noName = ""
