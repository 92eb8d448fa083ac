// Package testdb runs database servers for tests: one of each kind for a whole test binary. A
// server starts when the first test asks for it. It listens on a socket in a temporary folder, so
// that nothing else can reach it or take its port.
//
// The package starts and stops the servers. It must not depend on a driver: a test that asks for a server imports the
// driver that the function's comment names. The servers refuse to run as root. So if the tests run as root, the servers
// run as nobody.
//
// What is not promised:
//   - That a server keeps data over a crash: for speed, servers run without syncing.
//   - That servers end when the test binary is killed. Only Linux ensures this.
//
// The package starts no goroutines.
package testdb
