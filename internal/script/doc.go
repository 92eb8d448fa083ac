// Package script knows the operations that masters run for a lock: the keys they work on, their
// arguments, and what their replies mean (Vote). It assembles the Lua files of scripts/ into the
// scripts that are sent.
//
// It is pure: it does no I/O. It must not know connections, masters or holds.
package script
