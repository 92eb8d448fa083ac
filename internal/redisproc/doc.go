// Package redisproc runs real redis-server processes on the loopback address, one for each master,
// for tests and for the demo. It can cause the faults of masters in production: crash with the data
// kept or lost, freeze, restart.
//
// The package handles processes, their configuration and their files. It must not depend on locks, or on anything else
// for which masters are used.
//
// What is not promised:
//   - Persistence beyond the AOF setting. A SIGKILL does not lose bytes that the process gave to the kernel, so
//     with "everysec" nothing is lost either. To see a loss, shorten the files under [Server.Dir] while the server is
//     down.
//   - That nobody else takes the port of a server that is down. Ports are outside the range from which the kernel takes
//     ports for outgoing connections, so only another listener could take it.
//   - That servers end when their parent is killed. Only Linux ensures this.
//   - A pause on Windows.
//
// For each running process, a goroutine waits for the end of the process.
package redisproc
