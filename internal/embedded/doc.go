// Package embedded runs masters inside this process, for the demo and for tests, in real time and in the virtual time
// of a testing/synctest bubble. A master is a miniredis behind connections of our own, which behave like those of a
// kernel: what a client sent is delivered even when the client is gone, and waits while the master is paused.
//
// What is not promised:
//   - Being Redis. miniredis knows no CONFIG, ACL, DEBUG, eviction or persistence, its errors inside scripts lose their
//     code, and a key can expire in the middle of a script. Whatever counts is tried on a real server too.
//   - An order among connections after a pause: within each, requests are served in the order in which they were sent.
//   - That a pooled connection is known to be dead. go-redis can only see that on a socket: here the first command
//     after a Kill fails on each pooled connection, with io.EOF.
//
// In a bubble, make the Server inside it, and close clients and Server before it ends; a listening one does not fit.
//
// Goroutines: miniredis has two for each connection, and one more for each that subscribes. Kill and Close wait for
// the former; the latter end on their own right after.
package embedded
