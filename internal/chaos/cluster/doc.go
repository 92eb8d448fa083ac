// Package cluster runs real masters with all faults that masters have in the
// field, and fronts with faults of the network between them and each client process. Masters are
// containers on the local Docker Engine or redis-server processes. In both cases they listen on the loopback,
// keep their address over crashes, and have their data in a folder of this machine.
//
// What is not promised:
//   - The Docker engine needs a daemon on this machine, which sees its folders, and the host's network: it is for Linux.
//     The process engine runs wherever redis-server does, but can only set clocks if the system has a preload.
//   - No fault loses data that a master has given to the kernel: SIGKILL keeps the page cache.
//   - A client process reaches the masters only through its fronts, and shares no front with another.
//
// If a harness is killed, its servers end too: processes by a signal, containers with the program
// that runs them (package containers). Its temporary folder stays.
package cluster
