// Package register has the models of the register of members: which members may vote, and how that
// changes while locks are held. Its tests explore them (go test ./spec/register). docs/MODEL.md has
// the results.
//
// # The words
//
// A deployment is a set of masters that keep the register. A member id is random and names one life
// of one server: it is void as soon as the server lost any of its data. A table lists the members,
// each voting, new (it has no counters yet) or suspended (intact, but it may not vote). A ballot is
// one try to change the table, and the version of the table that it proposes. A master has promised
// a ballot, and accepted a table. prev are the members of the table before. A table is committed
// when a majority of its members and a majority of prev accepted it. A master has learned that when
// it carries the mark that says so, with its time.
//
// # What is modelled
//
//   - R1. acquire, confirm and extend carry a version. A master executes them only if it
//     accepted exactly that version, and its own id is voting in it. A round counts votes of
//     one version only. A quorum is a majority of all members of that table. A hold is
//     valid for as long as the votes of some one version prove: votes of different versions
//     are never added up. Releases carry no version, and are in no model: a lock may
//     vanish at any time as it is. (A repair carries one too. It is no vote.)
//   - R2. prepare and promise answer with version and table. Needed are promises from a
//     majority of the highest table T found, and of T.prev, unless T is known to be committed. A
//     T that is not is proposed unchanged under the new ballot. An accept is taken if
//     the ballot is not below the promise, by servers in the table or in prev. Evidence
//     of a commit: both majorities were seen to have accepted it, now or ever, or one member
//     carries the mark "learned", which only a client with evidence writes.
//   - R3. The changes. lost: the place of a void id goes to a new id of the same server,
//     which is new; always allowed. by name: the place of any id goes to any server that is no
//     member, because a client takes it for the member's; then, as for replace and suspend, a
//     quorum must be voting afterwards.
//     add: a quorum of the larger table must be. resume: always. remove: only of a suspended or
//     new member; the counters are read from a quorum at the base version, a quorum of the
//     N-1 that remain is raised to the highest, and the change is made on exactly that base,
//     after a quarantine. new to voting: the counters are read from a quorum (voting or
//     suspended) at one committed version that has the member as new; after a quarantine.
//     One change may make several members voting, if each meets the conditions.
//   - R4. With evidence anybody may push a table to a member that lags behind. That
//     ignores its promise, and raises it.
//   - R5. A quarantine is over when a quorum of the members whose accepted version is exactly
//     the base of the change have carried the mark for the longest ttl. Any accept of
//     another version takes the mark away. A minority of the clocks may jump.
//   - R6. A table says which members are durable: these write all that they have before they
//     answer. A server that restarts has no id until a client that saw its run has asked the
//     others, after that. It keeps its id, in this run, if by the newest table found it is durable,
//     and a majority of that table's members, and of prev unless it is known to be committed, has
//     kept its data: they did not restart, or are durable by that same table. A durable member that
//     stops writing is weakened. It does not vote, promise or accept, and nobody raises its
//     counters, until it writes again all that it has, or has learned a table by which it is not
//     durable. It takes no part in the commit of that table, and its id never is durable again.
//   - Founding. A run of init has a deployment id of its own, lower than all that it
//     finds. It claims all servers of its list. A claim gives way only to one of a lower id with
//     the same list, and not on a server that has a table. When all carried its claim, the run
//     asks all once more; then it brings version 1 to them, and each takes it only while it
//     carries that claim, and if its own id is in the table. A run that finds version 1 on some
//     server may bring it to the others of the list, whatever claim they carry.
//
// # What is assumed
//
// A server that lost data has a new id before it executes anything. One that stops writing notices
// before it executes anything. No second server runs with a copy of a master's data. For exclusion,
// a majority of the clocks is right. Progress needs a majority of members that keep their data; the
// promises do not: without a majority nothing is committed and no counter can be read.
//
// In tokens and exclusion, unless SERIAL is 0, changes are decided one after the other, each on the
// committed version before; accepts, reads and lock operations interleave freely. That is what the
// promise "one chain" of the full register allows.
package register
