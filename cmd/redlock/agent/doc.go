// Package agent holds locks for programs in other languages, which call it over HTTP. An Agent is an
// HTTP handler that uses a *redlock.Client. The command redlock agent serves it on a Unix socket.
// docs/AGENT.md has the calls, and begins with what is not promised.
//
// A program opens a session, which is its lease with the agent. Any request of the session renews the
// session. When the session ends, its locks are released. How long a program may count on a lock is
// defined by one sentence:
//
//	You hold the lock until (the moment before you sent the request) + valid_for_ms, unless a later
//	answer says otherwise.
//
// The reasons:
//
//   - When the agent answers, it computes how long the lease that a quorum of masters granted will last, and how long
//     the session will last. valid_for_ms is the shorter of the two, less 1 % and 2 ms, because a program's
//     clock may run slower than the agent's. The program counts from before its request, so network delays and pauses
//     of either side only shorten the time for which it counts on the lock.
//   - The agent releases a lock only when its program asks for that, or when the session ends. The session never ends
//     before a valid_for_ms that the program got has passed. A drain does not end sessions earlier: the
//     locks of sessions that are left after it expire on the masters.
//   - The agent reads the clock at each request and each answer. It does not rely on its timers, which may fire late if
//     the agent did not run for a while.
//   - An agent that was killed and started again refuses the sessions of its predecessor.
//
// The agent answers with a lock only when at least two thirds of the ttl are left. A lease that a release
// granted is shorter, and the agent extends it first. So only the session and the ttl limit valid_for_ms.
//
// A request to lock carries an id that the program chose. However often and late the request
// for a lock that was acquired arrives, the answer is this lock, or the same error after the lock has ended. A request
// that failed may be repeated.
//
// # Goroutines
//
//   - One for each lock that is waited for, until the wait ends.
//   - One for each lock that is released because its session ended, until the masters have answered.
//   - Those of the HTTP server, one for each request.
//
// A session has a timer. Close waits for all goroutines except the server's.
package agent
