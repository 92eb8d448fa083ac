package operator

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/work"
)

// ForceUnlock takes a lock from the holders that an inspection shows, and retries with a new inspection
// while the masters cannot be reached.
func (o *Operator) ForceUnlock(ctx context.Context, name string, emit func(history.Event)) error {
	client, err := o.Open(o.Masters)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for ; ctx.Err() == nil; fault.Wait(ctx, 50*time.Millisecond) {
		shown, err := admin.Inspect(ctx, client, name)
		if err != nil {
			continue
		}
		event := history.Event{
			Kind: history.ForceBegins, Call: o.nextCall(), Name: name, Owners: strings.Join(owners(shown), " "), Token: uint64(shown.Quorum.Token),
		}
		emit(event)
		token, err := admin.ForceUnlock(ctx, client, shown)
		event.Kind, event.Owners, event.Token, event.Err = history.ForceEnds, "", uint64(token), work.LockClass(err)
		emit(event)
		switch {
		case token.Valid():
			o.count(&o.counts.Forced)
			return nil
		case event.Err == history.ErrHeld:
			o.count(&o.counts.Refused)
			return nil
		}
	}
	o.count(&o.counts.Killed)
	return ctx.Err()
}

// owners returns the owners that lose the lock: the owners that a quorum names, or the owners on any master if the
// state is unknown.
func owners(in admin.Inspection) (all []string) {
	views := []admin.LockView{in.Quorum}
	if in.Quorum.State == admin.LockUnknown {
		for _, m := range in.Masters {
			views = append(views, m.LockView)
		}
	}
	for _, v := range views {
		if v.Owner != "" {
			all = append(all, v.Owner)
		}
		for _, r := range v.Readers {
			all = append(all, r.Owner)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (o *Operator) nextCall() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls++
	return o.calls
}
