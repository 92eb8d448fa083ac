package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Inspection is the state of a lock when its masters answered.
type Inspection struct {
	Name    string
	Need    int          // how many members decide: more than half
	Quorum  LockView     // what a quorum agrees on
	Masters []MasterView // the answer of each of the client's masters, in the order of the URLs
}

// LockState is the state of a lock.
type LockState string

// The states of a lock.
const (
	LockUnknown LockState = "unknown" // a master did not answer, or no majority agrees
	LockFree    LockState = "free"    // nobody holds it
	LockHeld    LockState = "held"    // a holder has it, or is acquiring it
	LockRead    LockState = "read"    // readers have it, or are acquiring it
	LockLingers LockState = "lingers" // its holder released it, and the masters keep it taken for a while: redlock.WithHoldAtLeast
	LockKept    LockState = "kept"    // nobody holds it: for a moment a master keeps it for the waiter that the master called
)

// LockView is the state of a lock on one master, or the state on which a quorum agrees.
type LockView struct {
	State     LockState
	Owner     string        // the id of the acquisition; "" if nobody holds the lock
	Holder    Holder        // the holder, or the client that the lock is kept for
	Grant     uint64        // the grant number of this master
	Token     fence.Token   // 0: not known
	Remaining time.Duration // until the lock is free, if nobody renews it; 0: not known
	Waiting   int           // clients that wait, each maybe for many callers
	Readers   []ReaderView  // of one master, at most the 100 whose leases end last
}

// Since returns when the holder asked for the lock, by the clock of its host. (For a lock that lingers: when its last
// holder asked.) The time is for people to read, because a clock may be wrong. Since is zero if nobody holds the
// lock, or if readers do: see ReaderView.Since.
func (v LockView) Since() time.Time { return identity.Since(v.Owner) }

// ReaderView is a reader of a lock.
type ReaderView struct {
	Owner     string // the id of the acquisition
	Holder    Holder
	Remaining time.Duration // until its lease ends, if nobody renews it
}

// Since returns when the reader asked for the lock, by the clock of its host, as LockView.Since does.
func (v ReaderView) Since() time.Time { return identity.Since(v.Owner) }

// MasterView is the answer of one master.
type MasterView struct {
	Master string // its address
	Err    error  // why it did not answer, or may not vote: then its answer does not count
	LockView
}

// Holder is a client. The client sent Host, PID and Name to the masters. These fields are "" and 0 if no master has
// them.
type Holder struct {
	Client string // its id, random
	Name   string // set by redlock.WithName
	Host   string
	PID    int
}

// String returns the known fields as text.
func (h Holder) String() string {
	switch {
	case h.Client == "":
		return "nobody"
	case h.Host == "" && h.PID == 0 && h.Name == "":
		return "client " + h.Client
	}
	return identity.Process{Host: h.Host, PID: h.PID, Name: h.Name}.String()
}

// Inspect asks the masters for the holder of a lock. Any process may call it, for any name. It changes
// nothing. It waits at most the request timeout for masters that do not answer, and as long again if
// the voting members are not known.
//
// The inspection names a holder when a majority of the members reports the same owner, and reports that a lock is free
// when a majority reports that nobody holds it. Otherwise, for example while contenders split the votes, the state is
// LockUnknown, and the inspection has the answer of each master. A named holder may still be acquiring the lock; then
// its token is not known. The inspection does not prove that the named holder holds the lock: use Client.Verify, with
// the holder's token, for that.
//
// The answer is about one moment, which is past when Inspect returns. It is for people, and for
// finding the holder. No decision about a lock may depend on it.
//
// Errors: bad input; ctx's error and cause; redlock.ErrClosed; a *redlock.QuorumError if too few masters answered.
// Beside a *redlock.QuorumError, Inspect returns the masters' answers.
func Inspect(ctx context.Context, client *redlock.Client, name string) (Inspection, error) {
	c := redlock.Inside(core.Key{}).Client(ctx, client)
	if err := c.CheckName(name); err != nil {
		return Inspection{}, err
	}
	leave, err := c.Enter(ctx)
	if err != nil {
		return Inspection{}, err
	}
	defer leave()
	deadline := c.Now().Add(c.RequestTimeout)
	in := Inspection{Name: name}
	if err := c.MayAsk(ctx, opInspect, name); err != nil {
		return inspectBlindly(ctx, c, in, err)
	}
	err = c.WhileMembersChange(ctx, deadline, func(v *membership.View) error {
		views, err := lookAt(ctx, c, v, name, deadline.Sub(c.Now()))
		if err != nil {
			return err
		}
		q := quorum.MajorityOf(v)
		in.Need, in.Masters, in.Quorum = q.Need, views, agreed(views, q.Need)
		if answered(views) >= q.Need {
			return nil
		}
		e := &redlock.QuorumError{Op: opInspect, Name: name, Reason: redlock.ErrNoQuorum, Need: q.Need, Lacks: v.Lacks}
		for _, m := range views {
			e.Votes = append(e.Votes, voteOf(m))
		}
		return e
	})
	return in, err
}

var errVotersUnknown = errors.New("it does not count: the voting members are not known")

// inspectBlindly asks the masters although the voting members are not known, for the reason in the error why.
func inspectBlindly(ctx context.Context, c *core.Client, in Inspection, why error) (Inspection, error) {
	q, ok := errors.AsType[*redlock.QuorumError](why)
	if !ok {
		return Inspection{}, why
	}
	views, err := lookAt(ctx, c, nil, in.Name, c.RequestTimeout)
	if err != nil {
		return Inspection{}, err
	}
	in.Need, in.Masters, in.Quorum = q.Need, views, LockView{State: LockUnknown}
	return in, why
}

func voteOf(m MasterView) redlock.Vote {
	vote := redlock.Vote{Master: m.Master, Answer: redlock.Granted, Err: m.Err}
	switch {
	case errors.Is(m.Err, redlock.ErrNotMember), errors.Is(m.Err, script.ErrVersion):
		vote.Answer = redlock.Refused
	case m.Err != nil:
		vote.Answer = redlock.Unknown
	}
	return vote
}

// lookAt asks all masters. Its requests do not wait behind other requests of the client. A nil view means that the
// voting members are not known.
func lookAt(ctx context.Context, c *core.Client, v *membership.View, name string, timeout time.Duration) ([]MasterView, error) {
	type answer struct {
		master int
		view   MasterView
	}
	answers := make(chan answer, len(c.Masters))
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	views := make([]MasterView, len(c.Masters))
	for i, m := range c.Masters {
		views[i] = MasterView{Master: m.Name, Err: quorum.ErrNoAnswer, LockView: LockView{State: LockUnknown}}
		c.Go(func() { answers <- answer{i, lookAtOne(asking, c, v, name, i)} })
	}
	for range views {
		select {
		case a := <-answers:
			views[a.master] = a.view
		case <-c.Closed.Done():
			return nil, redlock.ErrClosed
		case <-asking.Done():
			if ctx.Err() != nil {
				return nil, printable.ContextError(ctx)
			}
			for len(answers) > 0 { // if the process was paused past the timeout, select may drop answers that are there
				a := <-answers
				views[a.master] = a.view
			}
			return views, nil
		}
	}
	return views, nil
}

var inspectScript = master.NewScript(script.InspectSource)

// lookAtOne asks one master for the state of the lock, and for the names of its holders.
func lookAtOne(ctx context.Context, c *core.Client, v *membership.View, name string, index int) MasterView {
	m := c.Masters[index]
	k := script.KeysOf(c.Prefix, name, "")
	texts, err := m.EvalTexts(ctx, inspectScript, []string{script.RegisterKey(c.Prefix), k.Lock, k.Queue})
	view := masterView(c.Prefix, v, index, texts, err)
	view.Master = m.Name
	nameHolders(ctx, c.Prefix, m, &view.LockView)
	return view
}

// masterView turns the reply of inspect.lua into the answer of a master. If there is no reply, err has the reason. If
// the master may not vote, its answer does not count: the view has the state of the lock, and Err has the reason.
func masterView(prefix string, v *membership.View, index int, texts []string, err error) MasterView {
	if err == nil && (len(texts) < 4 || len(texts)%2 != 0) {
		err = fmt.Errorf("it replied %d values, which no master does", len(texts))
	}
	if err != nil {
		return MasterView{Err: printable.Error(err), LockView: LockView{State: LockUnknown}}
	}
	view := MasterView{LockView: lockView(prefix, texts[1], texts[2], texts[3], texts[4:])}
	switch {
	case v == nil:
		view.Err = errVotersUnknown
	case v.Out[index] != nil:
		view.Err = v.Out[index]
	case !votesIn(v, index, texts[0]):
		view.Err = script.ErrVersion
	}
	return view
}

// votesIn reports whether a reply with this header counts as a vote in the view. The version in the header must be
// the view's. The id in the header must be the one that the view has for this master. If the view has no id yet for
// this master, the id in the header must not be that of another master.
func votesIn(v *membership.View, index int, header string) bool {
	id, version, _ := strings.Cut(header, "@")
	other := v.MasterOf(id)
	return version == v.Version && (v.IDs[index] == id || v.IDs[index] == "" && other < 0)
}

// nameHolders asks a master for the identities of the clients in the view, and adds them to the view.
func nameHolders(ctx context.Context, prefix string, m *master.Master, view *LockView) {
	owners, holders := []*string{&view.Owner}, []*Holder{&view.Holder}
	for i := range view.Readers {
		owners, holders = append(owners, &view.Readers[i].Owner), append(holders, &view.Readers[i].Holder)
	}
	var asked []master.Command
	var known []*Holder
	for _, h := range holders {
		if h.Client != "" {
			asked, known = append(asked, master.Text("get", script.ClientKey(prefix, h.Client))), append(known, h)
		}
	}
	if len(asked) > 0 {
		if replies, err := m.Do(ctx, asked...); err == nil {
			for i, h := range known {
				h.fill(replies[i].Text())
			}
		}
	}
	for i, h := range holders {
		h.Client, *owners[i] = printable.Text(h.Client), printable.Text(*owners[i])
	}
}

// lockView parses the reply of a master about a lock.
func lockView(prefix, value, pttl, waiting string, readers []string) LockView {
	stored := script.ParseStored(value)
	view := LockView{State: LockFree}
	view.Waiting, _ = strconv.Atoi(waiting)
	view.Remaining = remainingOf(pttl)
	for i := 0; i < len(readers); i += 2 {
		view.Readers = append(view.Readers, ReaderView{readers[i], Holder{Client: identity.ClientOf(readers[i])}, remainingOf(readers[i+1])})
	}
	switch {
	case len(view.Readers) > 0:
		view.State = LockRead
	case stored.Other:
		view.State = LockUnknown
	case stored.KeptFor != "":
		view.State = LockKept
		channel := stored.KeptFor[strings.IndexByte(stored.KeptFor, '}')+1:] // without {read} or {next}
		view.Holder.Client = strings.TrimPrefix(channel, identity.Channel(prefix, ""))
	case stored.Owner != "":
		view.State, view.Owner = LockHeld, stored.Owner
		if stored.Lingers {
			view.State = LockLingers
		}
		view.Holder.Client = identity.ClientOf(stored.Owner)
		view.Grant, view.Token = uint64(stored.Grant), fence.Token(stored.Token)
	}
	return view
}

// remainingOf parses a time in ms, and returns 0 for any other text.
func remainingOf(text string) time.Duration {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 {
		return 0
	}
	return time.Duration(min(ms, script.MaxRemaining.Milliseconds())) * time.Millisecond
}

// fill sets the fields from text, the client's identity as a master stores it.
func (h *Holder) fill(text string) {
	if process, ok := identity.Read(text); ok {
		h.Name, h.Host, h.PID = printable.Text(process.Name), printable.Text(process.Host), process.PID
	}
}

// answered returns how many answers count.
func answered(views []MasterView) (n int) {
	for _, m := range views {
		if m.Err == nil {
			n++
		}
	}
	return n
}

// agreed returns the state on which a quorum of masters agrees. The parameter need is the size of a quorum.
func agreed(views []MasterView, need int) LockView {
	byOwner := map[string][]LockView{}
	all := []LockView{}
	for _, m := range views {
		if m.Err != nil || m.State == LockUnknown {
			continue
		}
		all = append(all, m.LockView)
		if m.State != LockRead {
			byOwner[m.Owner] = append(byOwner[m.Owner], m.LockView)
		}
	}
	view := LockView{State: LockUnknown, Waiting: quorum.NthLargest(valuesOf(all, func(v LockView) int { return v.Waiting }), need)}
	if view.Readers = agreedReaders(all, need); len(view.Readers) > 0 {
		view.State, view.Remaining = LockRead, view.Readers[len(view.Readers)-1].Remaining
		return view
	}
	for owner, same := range byOwner {
		if len(same) < need {
			continue
		}
		if owner == "" {
			view.State = LockFree
			return view
		}
		view.State, view.Owner, view.Holder = LockHeld, owner, same[0].Holder
		view.Remaining = quorum.NthLargest(valuesOf(same, func(v LockView) time.Duration { return v.Remaining }), need)
		tokens := map[fence.Token]int{}
		for _, v := range same {
			if v.Holder.Host != "" {
				view.Holder = v.Holder
			}
			if v.State == LockLingers {
				view.State = LockLingers // the holder's Unlock is under way, or has ended
			}
			token := max(v.Token, fence.Token(v.Grant))
			if tokens[token]++; tokens[token] >= need {
				view.Token = token
			}
		}
	}
	return view
}

// agreedReaders returns the readers that at least need masters (a quorum) report, sorted by the end of their leases.
func agreedReaders(views []LockView, need int) []ReaderView {
	byOwner := map[string][]ReaderView{}
	for _, v := range views {
		for _, r := range v.Readers {
			byOwner[r.Owner] = append(byOwner[r.Owner], r)
		}
	}
	var agreed []ReaderView
	for owner, same := range byOwner {
		if len(same) < need {
			continue
		}
		reader := ReaderView{Owner: owner, Holder: same[0].Holder}
		var ends []time.Duration
		for _, r := range same {
			ends = append(ends, r.Remaining)
			if r.Holder.Host != "" {
				reader.Holder = r.Holder
			}
		}
		reader.Remaining = quorum.NthLargest(ends, need)
		agreed = append(agreed, reader)
	}
	slices.SortFunc(agreed, func(a, b ReaderView) int {
		return cmp.Or(cmp.Compare(a.Remaining, b.Remaining), cmp.Compare(a.Owner, b.Owner))
	})
	return agreed
}

func valuesOf[T any](views []LockView, value func(LockView) T) []T {
	values := make([]T, len(views))
	for i, v := range views {
		values[i] = value(v)
	}
	return values
}
