// Package embedded runs masters inside this process, for the demo, for tests and for simulations.
// They run in real time, or in the virtual time of a testing/synctest bubble. A master is a store
// and a Lua engine of our own, behind connections that behave like those of a kernel: what a client
// sent is delivered even when the client is gone, and waits while the master is paused.
//
// It knows servers and connections. It must not know locks: to a master here, the scripts of the
// library are scripts like any other.
//
// A master does what Redis 7.0 does, with the same replies and errors, for the commands in
// commands.go. A test compares both on random sequences of them. Its faults are those of Server's
// methods, and CONFIG SET: with maxmemory 1 the commands that need memory fail (OOM); with
// appendonly no, the next life begins with the data of that moment; with a maxmemory-policy that
// evicts, Evict takes keys that expire. A restart brings back the first settings.
//
// What is not promised:
//   - The rest of Redis. There are no transactions, patterns to subscribe to, RESP3, passwords, databases but 0, or
//     persistence, and few options: ZRANGE goes by ranks, SET knows EX and PX, EXPIRE none, INFO one section, as in Redis 6.
//     Of Lua's libraries there are the basic one, string, table and math; of cjson there is decode, to which null is nil
//     and whose errors have another text.
//   - Being Lua 5.1 to the last. It is gopher-lua, which words errors of the language its own way, and as a text writes a
//     number above 1e15 with all digits; for the arguments of redis.call it is as in Redis. Its string.format takes wrong
//     arguments. A script can write to the
//     tables of the libraries, and the next one sees that. A script that never ends stops the master for good.
//   - An order among connections after a pause. Within one connection, requests are served in the order in which they
//     were sent.
//   - That a dead pooled connection is noticed. go-redis can notice it only on a socket. Here the first command after a
//     Kill fails on each pooled connection, with io.EOF.
//   - The moment at which a key is removed that nobody looks at: when its time has come, nobody can see it, but a clock
//     that is set back may show it again.
//
// In a bubble, make the Server inside the bubble, and close clients and Server before it ends. A
// Server that listens on a port does not work in a bubble.
//
// Goroutines: one for each connection, and for those over TCP two more. Kill and Close wait for all
// of them.
package embedded
