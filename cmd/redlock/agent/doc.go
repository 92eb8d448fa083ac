// Package agent holds locks for programs in other languages, which call it over HTTP. It is a
// handler over a *redlock.Client; redlock agent serves it on a Unix socket. docs/AGENT.md has the
// calls, and begins with what is not promised.
//
// A program opens a session, which is its lease with the agent: any request of the session renews
// it, and when it ends, its locks are released. What a program may believe of a lock is one
// sentence:
//
//	You hold the lock until (the moment before you sent the request) + valid_for_ms, unless a later
//	answer says otherwise.
//
// That is so because
//
//   - valid_for_ms is what is left when the answer is made: of the lease that a quorum of masters
//     proves, and of the session, whichever ends first; less 1 % and 2 ms, for a program's clock that
//     runs slower than the agent's. The request was sent before, so what the way takes, or a pause
//     of either side, only shortens what the program believes;
//   - the agent releases a lock only when its program said so, or at the end of the session. Neither
//     is before the end of what the program was told. This holds for an agent that drains, too:
//     what would be released too early is left for the masters to expire;
//   - an agent that did not run for a while reads the clock when it goes on, at each request and at
//     each answer, and not only when a timer has fired;
//   - an agent that was killed and started again knows no session of before, and says so.
//
// The agent answers with a lock when its lease is whole: one that a release granted is short, and
// is extended first. So only the session and the ttl limit what a program may believe.
//
// A request to lock carries an id that the program chose. The agent does it once, however often it
// arrives and however late: the same lock, or the same end of it.
//
// # Goroutines
//
//   - One for each lock that is waited for, until that is decided.
//   - One for each lock that is released because its session ended, until the masters have answered.
//   - Those of the HTTP server, one for each request.
//
// A session has a timer. Close waits for all goroutines but the server's.
package agent
