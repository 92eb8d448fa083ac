// Package sim plays a round of chaos in one process and in virtual time. The library runs unchanged. The masters are
// servers of package embedded, and the connections go through fault proxies over pipes, with a delay for each message.
// Faults, workers, operators and checks are the same as in a run with real masters.
//
// A seed decides the deployment, its times, the faults, the delays and the workers' choices. It does not decide the
// order in which goroutines run. So a seed that failed once may pass when it is run again.
//
// What differs from real masters and processes:
//   - A client that is stopped (SIGSTOP) sends and receives nothing, and its workers stop. Timers inside of the
//     library run on.
//   - A client that is killed loses all connections at once. Its later actions have no effects.
//   - Masters are not Redis: package embedded documents the differences.
package sim
