package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
)

// printStatus prints the status as text: first what is broken, then the locks, the members and the names. If
// briefly is set, it leaves out the table of members and most names, to fit a small terminal.
func printStatus(w io.Writer, s status, briefly bool) {
	if s.membersErr != nil {
		fmt.Fprintf(w, "The members are not known: %s\n\n", oneLine(s.membersErr))
	} else {
		printBroken(w, s, briefly)
	}
	for _, l := range s.locks {
		printLock(w, l, briefly)
		fmt.Fprintln(w)
	}
	most := mostNames
	if briefly {
		most = fewNames
	} else if s.membersErr == nil {
		printMembers(w, s.members)
	}
	if s.listed {
		fmt.Fprintln(w)
		printNames(w, s, most)
	}
}

// printBroken prints which members do not vote and why. If there are such members, or if the parameter broken is set,
// it also prints how many members vote.
func printBroken(w io.Writer, s status, broken bool) {
	for _, m := range s.members.Members {
		if text := remarks(m); text != "" {
			fmt.Fprintf(w, "%s %s\n", m.Address, text)
			broken = true
		}
	}
	if broken {
		fmt.Fprintln(w, votesOf(s.members)+"\n")
	}
}

func printNames(w io.Writer, s status, most int) {
	if errors.Is(s.namesErr, redlock.ErrDenied) {
		fmt.Fprintln(w, "The names that are taken are not listed: the user lacks the right to SCAN, which nothing else needs.")
		return
	}
	if s.namesErr != nil {
		fmt.Fprintf(w, "The names that are taken are not known: %s\n", oneLine(s.namesErr))
		return
	}
	more, names := "", s.names.Names
	if s.names.More || len(names) > most {
		names, more = names[:min(most, len(names))], "; there may be more"
	}
	fmt.Fprintf(w, "%s taken, as %s sees it, at most %d%s\n", counted(len(names), "name"), s.names.Master, most, more)
	for _, name := range names {
		fmt.Fprintf(w, "  %q\n", name)
	}
	if len(names) > 0 {
		fmt.Fprintln(w, "redlock status --name NAME shows the holder of one.")
	}
}

// printLock prints the state of a name on the quorum. If masters differ from this state, it also prints the
// state on each master. If briefly is set, a master that does not answer does not count as different.
func printLock(w io.Writer, l lockStatus, briefly bool) {
	q := l.in.Quorum
	fmt.Fprintf(w, "%q: %s\n", l.in.Name, stateWords(l))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(what, format string, args ...any) {
		fmt.Fprintf(table, "  %s\t%s\n", what, fmt.Sprintf(format, args...))
	}
	if l.err != nil && len(l.in.Masters) == 0 { // otherwise the line of each master has its error
		row("error", "%s", oneLine(l.err))
	}
	if q.Owner != "" {
		row("holder", "%v", q.Holder)
		row("owner", "%s", q.Owner)
		if since := q.Since(); !since.IsZero() {
			row("since", "%s, by the holder's clock", since.Format(time.RFC3339))
		}
		row("token", "%s", cmp.Or(tokenText(uint64(q.Token)), "not known"))
	}
	for _, r := range q.Readers {
		row("reader", "%v, owner %s, %v left", r.Holder, r.Owner, shortly(r.Remaining))
	}
	switch {
	case q.Owner == "" && len(q.Readers) == 0:
	case q.State == admin.LockLingers:
		row("free in", "%v", shortly(q.Remaining))
	default:
		row("free in", "%v, unless it is renewed", shortly(q.Remaining))
	}
	if q.Waiting > 0 {
		row("waiting", "%s", counted(q.Waiting, "client"))
	}
	_ = table.Flush()
	if differ(l.in, briefly) {
		printViews(w, l.in)
	}
}

// stateWords returns a text about the state of a name on the quorum.
func stateWords(l lockStatus) string {
	switch q := l.in.Quorum; {
	case l.err != nil:
		return "not known, because too few masters answer"
	case q.State == admin.LockUnknown:
		return "not known, because no majority of the members agrees"
	case q.State == admin.LockRead:
		return "held by " + counted(len(q.Readers), "reader")
	case q.State == admin.LockLingers:
		return "lingers: its holder left it, and it stays taken"
	default:
		return string(q.State)
	}
}

// differ reports whether a master replied another state than the quorum's. A master that did not reply counts as
// different too, unless briefly is set: then the caller reports it elsewhere.
func differ(in admin.Inspection, briefly bool) bool {
	return slices.ContainsFunc(in.Masters, func(m admin.MasterView) bool {
		return m.Err != nil && !briefly || m.Err == nil && (m.State != in.Quorum.State || m.Owner != in.Quorum.Owner || !slices.Equal(readersOf(m.LockView), readersOf(in.Quorum)))
	})
}

// readersOf returns the sorted owners of the readers.
func readersOf(v admin.LockView) []string {
	var owners []string
	for _, r := range v.Readers {
		owners = append(owners, r.Owner)
	}
	slices.Sort(owners)
	return owners
}

// printViews prints the answer of each master. The least important column is last, where a small terminal
// cuts it off.
func printViews(w io.Writer, in admin.Inspection) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  MASTER\tSTATE\tFREE IN\tWAITING\tOWNER\tGRANT\tREMARKS")
	for _, m := range in.Masters {
		owner := shortOwner(cmp.Or(m.Owner, m.Holder.Client, "-"))
		if n := len(m.Readers); n > 0 {
			owner = counted(n, "reader")
		}
		free := "-"
		if m.Remaining > 0 {
			free = shortly(m.Remaining).String()
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%d\t%s\t%s\t%s\n",
			m.Master, m.State, free, m.Waiting, owner, cmp.Or(tokenText(m.Grant), "-"), textOf(m.Err))
	}
	_ = table.Flush()
}

// shortOwner returns enough of an owner id to distinguish it from others: the beginning, which all owners of a client
// share, and the end.
func shortOwner(owner string) string {
	if len(owner) <= 12 {
		return owner
	}
	return owner[:6] + "…" + owner[len(owner)-4:]
}

func shortly(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
