// Package embedded runs masters inside this process, for the demo and for tests. They run in real time, or in the virtual
// time of a testing/synctest bubble. A master is a miniredis behind connections of our own. These behave like those of a
// kernel: what a client sent is delivered even when the client is gone, and waits while the master is paused.
//
// It knows servers and connections. It must not know locks: to a master here, the scripts of the library are scripts
// like any other.
//
// What is not promised:
//   - Being Redis. miniredis has no CONFIG, ACL, DEBUG, eviction or persistence. Its errors inside scripts lose their
//     code. A key can expire in the middle of a script. Whatever matters is also tested on a real server.
//   - An order among connections after a pause. Within one connection, requests are served in the order in which they
//     were sent.
//   - That a dead pooled connection is noticed. go-redis can notice it only on a socket. Here the first command after a
//     Kill fails on each pooled connection, with io.EOF.
//
// In a bubble, make the Server inside the bubble, and close clients and Server before it ends. A Server that listens on a
// port does not work in a bubble.
//
// Goroutines: miniredis has two for each connection, and one more for each connection that subscribes. Kill and Close
// wait for the first two. The third ends by itself soon after.
package embedded
