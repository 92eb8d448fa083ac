package script

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// Replies are read as the right votes, at the edges of their ranges.
func TestReadReplies(t *testing.T) {
	t.Parallel()
	const longest = int64(MaxRemaining / time.Millisecond)
	strange := errors.New("anything but \"not yours\"")
	granted := func(grant int64) Vote { return Vote{Answer: Granted, Grant: grant} }
	notMine, refused := Vote{Answer: Refused, Err: ErrNotMine}, Vote{Answer: Refused, Err: strange}
	for _, x := range []struct {
		operation *Operation
		reply     int64
		want      Vote
	}{
		{Acquire, 1, granted(1)},
		{Acquire, MaxCounter, granted(MaxCounter)},
		{Acquire, MaxCounter + 1, refused},
		{Acquire, 0, notMine},
		{Acquire, -1, Vote{Answer: Held}},
		{Acquire, -2, Vote{Answer: Held, Remaining: time.Millisecond}},
		{Acquire, -1 - longest, Vote{Answer: Held, Remaining: MaxRemaining}},
		{Acquire, -2 - longest, refused},
		{Acquire, -1 - 3*placeUnit, Vote{Answer: Held, Place: 3}},
		{Acquire, -1 - longest - Kept*placeUnit, Vote{Answer: Held, Remaining: MaxRemaining, Place: Kept}},
		{Acquire, -2 - longest - 3*placeUnit, refused},
		{Acquire, -MinTicket, refused},
		{Acquire, -MinTicket - 1, Vote{Answer: Held, Ticket: MinTicket + 1}},
		{Acquire, -maxTicket, Vote{Answer: Held, Ticket: maxTicket}},
		{Acquire, -maxTicket - 1, refused},
		{Extend, -2, refused},
		{Extend, -1, notMine},
		{Extend, 0, Vote{Answer: Granted}},
		{Extend, 5, Vote{Answer: Granted, Remaining: 5 * time.Millisecond}},
		{Extend, longest, Vote{Answer: Granted, Remaining: MaxRemaining}},
		{Extend, longest + 1, refused},
		{Release, -2, refused},
		{Release, -1, Vote{Answer: Held}},
		{Release, 0, notMine},
		{Release, 1, Vote{Answer: Granted}},
		{Release, 2, refused},
		{Confirm, -1, refused},
		{Confirm, 0, notMine},
		{Confirm, 1, Vote{Answer: Granted}},
		{Confirm, 2, refused},
	} {
		got := x.operation.Read(x.reply)
		if got.Err != nil && got.Err != ErrNotMine {
			got.Err = strange
		}
		if got != x.want {
			t.Errorf("%s replied %d: %+v, want %+v", x.operation.Name, x.reply, got, x.want)
		}
	}
	if err := Acquire.Read(MaxCounter + 1).Err; !errors.Is(err, ErrNotMember) {
		t.Errorf("a counter out of range: %v, want that the master is no member", err)
	}
}

func TestNotMine(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		vote Vote
		want bool
	}{
		{Vote{Answered: true, Answer: Held}, true},
		{Vote{Answered: true, Answer: Refused, Err: ErrNotMine}, true},
		{Vote{Answered: true, Answer: Refused, Err: ErrVersion}, false},
		{Vote{Answered: true, Answer: Granted}, false},
		{Vote{Answered: true, Answer: Unknown}, false},
	} {
		if got := x.vote.NotMine(); got != x.want {
			t.Errorf("%+v: %t, want %t", x.vote, got, x.want)
		}
	}
}

// Each operation has a branch in the dispatch that uses all its keys and arguments.
func TestEachOperationIsDispatched(t *testing.T) {
	t.Parallel()
	for _, o := range operations {
		if !strings.Contains(BatchSource, "operation == '"+o.Name+"'") {
			t.Errorf("%s has no branch", o.Name)
		}
		words := slices.Clone(o.args)
		for _, key := range o.keys {
			words = append(words, keyNames[key])
		}
		for _, word := range words {
			if !strings.Contains(strings.ReplaceAll(o.run, ")", ","), word+",") {
				t.Errorf("%s: %q is not used in %s", o.Name, word, o.run)
			}
		}
	}
	if got, want := branches("confirm release", call), `if operation == 'confirm' then
_, reply = voted(confirm, KEYS[k], KEYS[k + 1], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3])
k, a = k + 2, a + 4
elseif operation == 'release' then
_, reply = pcall(unlock, KEYS[k], nil, KEYS[k + 1], ARGV[a + 1], '0', '', '')
k, a = k + 2, a + 2
`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
