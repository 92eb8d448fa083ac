// Package register has the models of the register of members: which members may vote, and how that
// changes while locks are held. Its tests explore them (go test ./spec/register). docs/MODEL.md has
// the results.
//
// # The words
//
// A deployment is a set of masters that keep the register. A member id is random and identifies the
// data of one server: the id is void as soon as the server has lost any of its data. A table lists the
// members. Each is voting, new (it has no counters yet) or suspended (intact, but it may not vote). A
// ballot is the number of one attempt to change the table. It is also the version of the table that
// is proposed in that attempt. A master promises ballots and accepts tables. prev is the set of
// members of the previous table. A table is committed when a majority of its members and a majority of
// prev have accepted it. A master that learns of the commit stores the mark "learned", with the time.
//
// # What is modelled
//
//   - R1. acquire, confirm and extend carry a version. A master executes them only if it has
//     accepted exactly that version, and its own id is voting in it. A round counts votes of
//     one version only. A quorum is a majority of all members of that table. A hold is valid for
//     as long as the votes of a single version prove: votes of different versions are never added
//     up. A repair carries a version as well, but is not a vote. Releases are not modelled, and carry
//     no version. Instead, a lock may vanish: in tokens at any moment, in exclusion when its hold is
//     over.
//   - R2. The replies to prepare and promise contain the version and the table. Let T be the highest
//     table found. The client needs promises from a majority of T and, unless T is known to be
//     committed, also from a majority of T.prev. If T is not known to be committed, it is proposed
//     again, unchanged, under the new ballot. A server that is in the proposed table, or in its
//     prev, accepts it if the ballot is not below the server's promise. There are two kinds of
//     evidence of a commit: both majorities were seen to have accepted the table, at the same time or
//     not; or one member carries the mark "learned", which only a client with evidence writes.
//   - R3, lost: the place of a void id goes to a new id of the same server, which begins in the state
//     new. Always allowed.
//   - R3, replace and suspend: a quorum must be voting afterwards.
//   - R3, by name: the place of any id goes to a server that is not a member, because a client takes
//     that server for the member's. A quorum must be voting afterwards.
//   - R3, add: a quorum of the larger table must be voting afterwards.
//   - R3, resume: always allowed.
//   - R3, remove: only a suspended or new member. The counters are read from a quorum at the present
//     version, and a quorum of the other members is raised to the highest. After a quarantine, the
//     change is made on exactly this version.
//   - R3, new to voting: the counters are read from a quorum, whose members are voting or suspended,
//     at one committed version that has the member as new. The change is made after a quarantine. One
//     change may make several members voting, if each meets the conditions.
//   - R4. With evidence of its commit, any client may push a table to a member that lags behind. The
//     member accepts the table even if it has promised a higher ballot. A promise below the pushed
//     version is raised to it.
//   - R5. A quarantine is over when each member of a quorum of all members has accepted exactly the
//     present version, and has carried the mark "learned" for the longest ttl. A member that accepts
//     another version loses the mark. A minority of the clocks may jump.
//   - R6. A table lists which members are durable: a durable member writes all its data to disk before
//     it replies. A server that restarts has no id at first. A client that has seen the server's new
//     run then asks the others. The server keeps its id, in this run, if the newest table found meets
//     three conditions. The server is durable by this table. A majority of the table's members have
//     kept their data. Unless the table is known to be committed, a majority of prev have kept theirs.
//     A member has kept its data if it did not restart, or is durable by that same table.
//   - R6, weakened: a durable member that stops writing to disk is weakened. It does not vote, promise
//     or accept, and nobody raises its counters, until it has all its data on disk again, or is pushed
//     a table by which it is not durable. A weakened member takes no part in the commit of
//     such a table, and its id never becomes durable again.
//   - Founding. A run of init has a deployment id of its own, lower than all that it finds. It claims
//     all servers of its list. A claim is replaced only by a claim with a lower id and the same list,
//     and never on a server that has a table. When all servers have carried the run's claim, the run
//     asks all of them again. Then it sends version 1 to them. A server accepts version 1 only while
//     it carries that claim, and only if its own id is in the table. A run that finds version 1 on
//     some server may send it to the other servers of the list, whatever claims these carry.
//
// # What is assumed
//
// A server that lost data has a new id before it executes another command. A server that stops
// writing to disk detects this before it executes another command. No second server runs with a copy
// of a master's data. For exclusion, a majority of the clocks is right. Liveness needs a majority of
// members that keep their data. Safety does not need that majority: without it nothing is committed
// and no counter can be read.
//
// In exclusion, and in tokens unless SERIAL is 0, changes are decided one at a time, each based on
// the previous committed version. Accepts, reads and lock operations happen in any order. This is
// sound: the model register, which has all steps of a ballot (SERIAL=0), shows that the committed
// tables form one chain.
package register
