// Package agent holds locks for programs in other languages, which call it over HTTP. It is a
// handler over a *redlock.Client; redlock agent serves it on a Unix socket. docs/AGENT.md has the
// calls, and begins with what is not promised.
//
// A program opens a session, which is its lease with the agent. Any request of the session renews
// it, and when it ends, its locks are released. One sentence says how long a program may count on a
// lock:
//
//	You hold the lock until (the moment before you sent the request) + valid_for_ms, unless a later
//	answer says otherwise.
//
// The reasons:
//
//   - valid_for_ms is the time left when the answer is made: of the lease that a quorum of masters
//     granted, or of the session if that ends first; less 1 % and 2 ms, because a program's clock
//     may run slower than the agent's. The program counts from before its request, so network
//     delays and pauses of either side only shorten the time for which it counts on the lock;
//   - the agent releases a lock only when its program asks for it, or at the end of the session. Neither comes before
//     the end of the time that the agent has promised. This holds while the agent drains, too: a lock that would be
//     released too early is left to expire on the masters;
//   - an agent that did not run for a while reads the clock at each request and each answer, and does
//     not rely on its timers;
//   - an agent that was killed and started again refuses the sessions of its predecessor.
//
// The agent answers with a lock only once its lease is whole: a lease granted by a release is short, and
// is extended first. So only the session and the ttl limit valid_for_ms.
//
// A request to lock carries an id that the program chose. The agent handles an id once, however often and
// late it arrives: the answer is the same lock, or the same end of it.
//
// # Goroutines
//
//   - One for each lock that is waited for, until the wait ends.
//   - One for each lock that is released because its session ended, until the masters have answered.
//   - Those of the HTTP server, one for each request.
//
// A session has a timer. Close waits for all goroutines except the server's.
package agent
