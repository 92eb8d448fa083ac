// Package script defines the operations that masters run for a lock: the keys they work on, their
// arguments, and what their replies mean (Vote). It assembles the Lua files of scripts/ into the
// scripts that are sent.
//
// It is pure: it does no I/O. It must not depend on connections, masters or holds.
//
// # An operation
//
// One row of operations.go is the only place with the order of its keys and arguments. Both sides
// are made from it:
//
//	        ┌─Call──► keys, name, arguments ──► a batch of package master ──► BatchSource
//	a row ──┤                                                                  ▲      │
//	        ├─dispatched: its branch in batch.lua, run.lua or rest.lua─────────┘      │
//	        └─Read──◄ an integer ◄────────────────────────────────────────────────────┘
//	           └──► a Vote; package master reads errors, and adds the instants
//
// Most of BatchSource is in functions that are defined when a batch first needs them, because each
// definition costs the master time whenever the script runs. So cost decides which file has an
// operation's "-- dispatch" line. batch.lua has the usual cases of the usual operations, as text
// without a function. rest.lua has the rare operations.
package script
