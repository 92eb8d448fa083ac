// Package leader elects one process among many, for a role that is held for days: a scheduler, the
// one writer, the owner of a shard. An Elector campaigns, leads while it holds the lock of the
// election's name, steps down when the term is lost, and campaigns again.
//
//	elector, err := leader.New(client, "scheduler")
//	...
//	err = elector.Run(ctx, func(ctx context.Context, token fence.Token) error {
//		// ctx ends with the term. Pass token to every store that you write to.
//		return schedule(ctx, token)
//	})
//
// # What is promised
//
//   - What package redlock promises for the lock of the election's name: at most one leader at a
//     time, as long as clocks run at the same rate within the drift; and tokens that grow from term
//     to term, independently of any clock.
//   - An Elector runs at most one call of its function at a time, however late the function returns.
//   - A leader that died or hangs is replaced when its ttl is over (WithLock, redlock.WithTTL; by default
//     30 s). A leader that resigned or returned is replaced at once: end Run's context before a planned stop.
//
// # What is not promised
//
//   - That the functions of two processes never overlap in time. A process that is paused past its
//     lease may write before it notices; only a store that compares tokens can refuse these writes.
//   - That the results of IsLeader, Leader and Watch are still true when the caller uses them.
//   - An order among candidates, unless WithFair is given.
//   - That there is a leader after Run has returned redlock.ErrNeedsSetup in all candidates: for
//     example, because the masters were not founded, or a right was taken away. Then no candidate
//     campaigns, even after the masters have been mended. End the process then, so that its
//     supervisor restarts it, or use the option WithLock(redlock.WithWaitForSetup()).
//
// # Beside others
//
//	                         here                           client-go leaderelection    redlease                etcd Election
//	rests on                 a majority of Redis masters    the Kubernetes API          one Redis               an etcd cluster
//	fencing token            yes, no clock in it            no                          yes, of that Redis      the revision
//	lease, renewal           WithTTL, at a third of it      LeaseDuration,              TTL, RenewInterval      session's ttl
//	                                                        RenewDeadline
//	a waiting candidate      is called at a release         polls: RetryPeriod          polls                   watches
//	campaigns again          Run, after WithPause           no: Run returns             Run                     no: Campaign again
//	function's context       ends with the lease            ends when a renewal failed  ends likewise           none: Session.Done
//	function that hangs      is waited for; Overdue         may lead twice              is waited for           -
//	release at the end       after the function returned    ReleaseOnCancel: before     yes                     Resign
//	resign                   Resign, then a pause           no                          Resign, no pause        Resign
//	the current leader       Leader, Of: any process        GetLeader: candidates       no                      Leader
//	changes of leader        NewLeader, Watch (polled)      OnNewLeader (polled)        OnFollower: another     Observe (pushed)
//	leader's own value       redlock.WithName, SetName      Identity                    InstanceID              Campaign, Proclaim
//	liveness probe           Overdue                        WatchDog                    no                      no
//	without a function       Run(ctx, nil), and Token       no                          likewise                always
//	after a restart          a new term, and a new token    the same Identity goes on   a new term              ResumeElection
//	guarded writes           guard/redisguard, sqlguard,    no                          Fence… (Redis)          Txn on the revision
//	                         httpguard
//
// This package has no term that outlives its process (ResumeElection): two processes would share a
// token, which protects a store against neither of them. It also lacks changes of leader that are
// pushed, not polled, and a leader that is chosen by version or priority (client-go's coordinated
// election).
//
// # Goroutines
//
// Run calls the function itself. If Callbacks.NewLeader is set, Run has one goroutine that polls for the leader, and
// that ends before Run returns.
package leader
