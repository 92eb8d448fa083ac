// Package script knows the operations that masters run for a lock: the keys they work
// on, their arguments, and what their replies mean (Vote). It assembles the Lua of
// scripts/ into what is sent. It is pure: it must not know connections, masters or
// holds.
package script
