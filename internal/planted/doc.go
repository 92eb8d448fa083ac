// Package planted has bugs that chaos must find. Each bug is in a file of its own. Only
// the build tag planted builds them in, and then the environment variable
// REDLOCK_PLANTED names the one that is there. Without the tag, the client has none of
// them: the methods of Bug change nothing, and the compiler leaves no trace of the calls.
//
// It knows the places of the client where a bug can be put: a method of Bug for each. It
// must not know connections, masters or holds: a bug only changes what a method returns.
package planted
