// Package redlocktest provides a deployment for tests of programs that use package redlock. Its masters
// run in the test's own process: there is nothing to install or start. They run the library's
// scripts, so locks, tokens, renewal, queues and members are the real ones. A test can take a lock from
// its holder, and can kill, freeze and empty masters.
//
//	func TestPayroll(t *testing.T) {
//		d := redlocktest.New(t)
//		client := d.Client()
//		…
//		rival := d.Steal("payroll") // in the middle of the job
//		<-ctx.Done()                // the job's context ends, with redlock.ErrLost
//		…
//	}
//
// # Virtual time
//
// The package works in real time, and in the virtual time of a testing/synctest bubble, where an hour of renewals takes
// some milliseconds. In a bubble, call New in the bubble, with the bubble's t, and make clients with Client: clients of
// redlock.Open and redlock.New use the clock of the machine.
//
// # What it does not show
//
//   - A network. Messages are not lost, doubled or late; only a killed or frozen master does not answer. Round trips
//     take no time.
//   - The effects of Redis's disk and memory. A master keeps its data when it is killed, as with appendfsync
//     always, and loses it by Wipe only. It is never out of memory.
//   - Passwords, ACLs, TLS, Sentinel, replicas and Redis Cluster.
//   - Speed. The scripts are interpreted in Go, and run slower than in Redis.
//
// So also test against real servers, with the versions and settings that you run.
//
// Only tests should import this package: it brings a Lua interpreter, and package testing.
package redlocktest
