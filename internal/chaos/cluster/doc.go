// Package cluster runs real masters, with all faults that masters have in production. Between the masters and each
// client process it runs fronts: proxies with faults of the network. Masters are containers on the local Docker Engine,
// or redis-server processes. In both cases masters listen on the loopback interface, keep their addresses across
// crashes, and have their data in a folder of this machine.
//
// Limits:
//   - The Docker engine needs a daemon that uses the folders and the network of this machine, so it runs only on
//     Linux. The process engine runs wherever redis-server does, but sets clocks only where LD_PRELOAD works.
//   - No fault loses data that a master has given to the kernel: SIGKILL keeps the page cache.
//
// If a harness is killed, its servers end too. Processes are ended by a signal, and containers by the program that
// runs them (package containers). The temporary folder of the harness stays.
package cluster
