// Package admin is for operators. It founds a deployment, changes the members, inspects locks, and
// takes a lock by force. A program that only locks needs none of this.
//
//	client, err := redlock.Open(urls)
//	...
//	err = admin.Init(ctx, client, 0) // once, before the first lock
//
// Every function takes a client and uses its masters, prefix and request timeout. It returns redlock.ErrClosed if the
// client is closed, and panics if the client is nil or zero, or if ctx is nil. Any client of the same masters can be
// used, and it stays usable for locks. The command redlock does the same from a shell (docs/CLI.md).
//
// Results describe the moment when the masters answered, and may be stale. No decision about a lock
// may depend on them: use Lock.Context, the token and Client.Verify.
package admin

// The operations that a redlock.QuorumError names.
const (
	opInspect = "inspect"
	opNames   = "list the names"
	opMembers = "learn the members"
)

// noName takes the place of a lock's name in requests that are not about a lock.
const noName = ""
