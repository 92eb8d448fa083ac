// Package planted has bugs that a chaos run must find. Each bug is in a file of its own,
// and only its build tag (planted_drift, …) builds it in. Without a tag, the client has
// none of them: the methods of Bug change nothing, and the compiler leaves no trace of
// the calls.
//
// It knows the places of the client where a bug can be put: a method of Bug for each. It
// must not know connections, masters or holds: a bug only changes what a method returns.
package planted
