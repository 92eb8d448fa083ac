// Package testdb runs database servers for tests: one of each kind for a whole test binary, started when the first test
// asks for it, on a socket in a temporary folder, so that nothing else can reach it or take its port.
//
// It knows no driver: the test that asks for a server imports the one that is named beside the function. As root, the
// servers run as nobody, since they refuse to run as root.
//
// What is not promised:
//   - That a server keeps anything over a crash: they run without syncing, for speed.
//   - Anything but Linux keeps servers from outliving a test binary that was killed.
//
// Goroutines: none.
package testdb
