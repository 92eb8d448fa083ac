// Package script defines the operations that masters run for a lock: their keys, their arguments, and
// the meaning of their replies (Vote). It assembles the Lua files of scripts/ into the scripts that
// clients send.
//
// The package does no I/O. It must not depend on connections, masters or holds.
//
// # An operation
//
// An operation is one row of operations.go. Only this row has the order of the keys and arguments. What
// clients send, and what masters run, is made from the row:
//
//	        ┌─Call──► keys, name, arguments ──► a batch of package master ──► BatchSource
//	a row ──┤                                                                  ▲      │
//	        ├─dispatched: its branch in batch.lua, run.lua or rest.lua─────────┘      │
//	        └─Read──◄ an integer ◄────────────────────────────────────────────────────┘
//	           └──► a Vote; package master reads errors, and adds the instants
//
// Each definition of a function costs the master time whenever the script runs. So most functions of
// BatchSource are defined only when a batch first needs them. Three files have "-- dispatch" lines.
// batch.lua has the usual cases of the usual operations, as text without a function. rest.lua has the
// rare operations. run.lua has the operations in between.
package script
