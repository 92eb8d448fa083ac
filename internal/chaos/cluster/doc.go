// Package cluster runs real masters that can be hurt in every way that a master is hurt in the
// field, and fronts that hurt the network between them and each client process. Masters are
// containers on the local Docker Engine or redis-server processes; either way they listen on the
// loopback, keep their address over crashes, and have their data in a folder of this machine.
//
// What is not promised:
//   - The Docker engine needs a daemon on this machine, which sees its folders, and the host's network: it is for Linux.
//     The process engine runs where redis-server does, without other clocks where the system has none.
//   - Nothing loses what a master has handed to the kernel: SIGKILL keeps the page cache.
//   - A client process sees the masters through its fronts alone, and shares no front with another.
//
// Servers end with a harness that was killed: processes by a signal, containers with the program
// that runs them (package containers). Its folder in the temporary folder stays.
package cluster
