// Package embedded runs masters inside this process, for the demo, for tests and for simulations. Masters run in
// real time, or in the virtual time of a testing/synctest bubble. The data, the commands on data, RESP and subscriptions
// come from miniredis. This package adds faults, the expiry of keys, INFO and CONFIG, the engine of the scripts, and
// connections. A connection behaves like a connection of a kernel. Bytes that a client sent are delivered even after
// the client is gone. While the master is paused, these bytes wait. A connection ends with its master.
// docs/adr/0008-masters-in-the-process.md has the reasons.
//
// The package handles servers and connections. It must not depend on locks: to a master here, the scripts of the
// library are scripts like any other.
//
// A master answers as Redis 7.0 does. Tests compare the scripts of the library here and on Redis. Methods of Server and
// CONFIG SET cause the faults of a master. With maxmemory 1, commands that need memory fail (OOM). After CONFIG SET
// appendonly no, the next start brings back the data that the master had when appendonly was set. With an evicting
// maxmemory-policy, Evict evicts keys with an expiry. A restart restores the initial settings.
//
// What is not promised:
//   - The rest of Redis, unless miniredis has it. Only SET, EXPIRE, PEXPIRE and PEXPIREAT set an expiry.
//     INFO takes one section, as in Redis 6. A snapshot has strings, lists, hashes and sorted sets. Lua has its basic
//     library, string, table and math, and only decode of cjson.
//   - The texts of Redis. Some errors, for example of an unknown command, come from miniredis. Scores are written as in
//     Redis 7.2: 1e+15. Fields of a hash are sorted.
//   - All of Lua 5.1. The engine is gopher-lua, which words errors of the language its own way. A script that assigns
//     to a global is refused when it is loaded. A script can write to the tables of the libraries, and the next script
//     sees the change. A script that never ends stops the master for good.
//   - An order among connections after a pause. Within one connection, requests are served in the order in which they
//     were sent.
//   - That a dead pooled connection is noticed. go-redis can notice it only on a socket. Here the first command after a
//     Kill fails on each pooled connection, with io.EOF.
//
// In a bubble, make the Server inside the bubble, and close clients and Server before the bubble ends. A Server that
// listens on a port does not work in a bubble. If a client of such a port does not read, the master stops when the
// buffers of the kernel are full.
//
// Kill and Close end all goroutines. They wait for all goroutines, except for the goroutines that write to subscribers.
package embedded
