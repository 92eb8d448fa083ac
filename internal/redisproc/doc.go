// Package redisproc runs real redis-server processes on the loopback address, one master each, for tests and for the
// demo. It can do to them what happens to masters in the field: crash with the data kept or lost, freeze, come back.
//
// What is not promised:
//   - Persistence beyond what the AOF setting gives. A SIGKILL does not lose what the process handed to the kernel, so
//     with "everysec" nothing is lost either: to see the loss, shorten the files under [Server.Dir] while it is down.
//   - That nobody else takes the port of a server that is down. Ports are drawn outside the range from which the kernel
//     gives ports to outgoing connections, so that only another listener could.
//   - Anything but Linux keeps servers from outliving a parent that was killed; Windows knows no Pause.
//
// Goroutines: one for each running process. It waits for the process, and ends with it.
package redisproc
