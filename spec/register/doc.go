// Package register has the models of the register of members: which members may vote, and how that
// changes while locks are held. Its tests explore them (go test ./spec/register). docs/MODEL.md has
// the results.
//
// # The words
//
// A deployment is a set of masters that keep the register. A member id is random and identifies the data of
// one server: the id is void as soon as the server has lost any of its data. A table lists the members. Each
// member is voting, new (it has no counters yet) or suspended (its data is intact, but it may not vote). A
// ballot is the number of one attempt to change the table. The table that this attempt proposes has the
// ballot as its version. A master promises ballots and accepts tables. prev is the set of members of the
// previous table. A table is committed when a majority of its members and a majority of prev have accepted
// it. A master that learns of the commit stores the mark "learned", with the time.
//
// # What is modelled
//
//   - R1. acquire, confirm and extend carry a version. A master executes them only if it has accepted exactly
//     that version, and its own id is voting in that version's table. A round counts votes of one version
//     only. A quorum is a majority of all members of that table. A hold is valid for as long as the votes of
//     a single version prove it: votes of different versions are never added up. A repair carries a version as
//     well, but is not a vote. Releases carry no version, and are not modelled. Instead, a lock may vanish:
//     in the model "tokens" at any moment, in "exclusion" only after its hold has ended.
//   - R2. A reply that promises contains the accepted version and its table. Let T be the highest table among the
//     replies. The client needs promises from a majority of T's members and, unless T is known to be committed, also
//     from a majority of T.prev. If T is not known to be committed, it is proposed again, unchanged, under the new
//     ballot. A server that is in the proposed table or in prev accepts this table, unless it has promised a higher
//     ballot. There are two kinds of evidence of a commit. Either both majorities were seen to have accepted the table,
//     not necessarily at the same time. Or one member carries the mark "learned", which only a client with evidence
//     writes.
//   - R3, lost: the place of a void id goes to the server's new id, in the state new. This is always allowed.
//   - R3, replace and suspend: a quorum must be voting afterwards.
//   - R3, by name: if the name of a member leads to a server that is not a member, a client gives this
//     server the member's place. A quorum must be voting afterwards.
//   - R3, add: a quorum of the larger table must be voting afterwards.
//   - R3, resume: this is always allowed.
//   - R3, remove: the member must be suspended or new. First, the counters of a quorum are read at the
//     present version V. Then the counters of a quorum of the other members are raised to the highest counter
//     that was read. After a quarantine, the change is made on exactly V.
//   - R3, new to voting: the counters of a quorum are read at one committed version. This version lists the
//     new member as new, and the members of the quorum as voting or suspended. The change is made after a
//     quarantine. One change may make several members voting, if each meets the conditions.
//   - R4. A client that has evidence of a table's commit may push the table to a member that lags behind. The
//     member accepts the table even if the member has promised a higher ballot. If the member's promise is
//     below the pushed version, the promise is raised to this version.
//   - R5. A quarantine is over when a quorum has accepted exactly the present version, and each member of
//     this quorum has carried the mark "learned" for the longest ttl. A member that accepts another version
//     loses the mark. A minority of the clocks may jump.
//   - R6. A table lists which members are durable: a durable member writes all its data to disk before it
//     replies. A server that restarts has no id at first. A client first notes the server's new run, and then
//     asks the other members. In this run, the server keeps its id under three conditions. First, the server
//     is durable by the newest table that the client found. Second, a majority of this table's members have
//     kept their data. Third, a majority of prev have kept their data, or the table is known to be committed.
//     A member has kept its data if it did not restart, or if it is durable by the newest table.
//   - R6, weakened: a durable member that stops writing to disk is weakened. A weakened member does not vote,
//     promise or accept, and nobody raises its counters. This ends when all its data is on disk again, or
//     when a client pushes it a table by which it is not durable. The member takes no part in the commit of
//     that table, and its id never becomes durable again.
//   - Founding. A run of init claims all servers of its list for a deployment id of its own. Only a claim with a lower
//     deployment id and the same list replaces a claim, and only on a server that has no table. (In the library, the
//     claim with the higher ballot wins.) When all servers have carried the run's claim, the run asks all of them
//     again. If all still carry the claim, the run sends version 1 to them. A server accepts version 1 only while it
//     carries that claim, and only if its own id is in the table. A run that finds version 1 on one server of its list
//     may send this table to the other servers, whatever claims they carry.
//
// # What is assumed
//
// A server that lost data has a new id before it executes another command. A server that stops
// writing to disk detects this before it executes another command. No second server runs with a copy
// of a master's data. In the model "exclusion", no lock expires because of a jump of a clock, and only a minority
// of clocks jumps.
// Liveness needs a majority of members that keep their data. Safety does not: without this majority, nothing is
// committed and no counter can be read.
//
// In the models "exclusion" and "tokens", changes are decided one at a time, each based on the previous committed
// version. Accepts, reads and lock operations happen in any order. This simplification is sound: the model
// register (tokens without attempts, and with SERIAL=0) has all steps of a ballot, and shows that the committed
// tables form one chain.
package register
