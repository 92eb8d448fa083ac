package admin

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestAgreed(t *testing.T) {
	t.Parallel()
	out := errors.New("down")
	held := func(owner string, token uint64, left time.Duration) MasterView {
		return MasterView{LockView: LockView{State: LockHeld, Owner: owner, Grant: token, Depth: 1, Remaining: left}}
	}
	free, kept, down := MasterView{LockView: LockView{State: LockFree}}, MasterView{LockView: LockView{State: LockKept}}, MasterView{Err: out, LockView: LockView{State: LockFree}}
	for _, c := range []struct {
		name  string
		views []MasterView
		want  string
	}{
		{"all say the same", []MasterView{held("a", 7, 1), held("a", 7, 2), held("a", 7, 3)}, "held a 7 2ns"},
		{"a majority does", []MasterView{held("a", 7, 1), held("a", 7, 2), free}, "held a 7 1ns"},
		{"its grants differ: the token is not known", []MasterView{held("a", 7, 1), held("a", 8, 2), free}, "held a 0 1ns"},
		{"two owners, and one is down", []MasterView{held("a", 7, 1), held("b", 7, 2), down}, "unknown  0 0s"},
		{"who is out does not count", []MasterView{held("a", 7, 1), free, down}, "unknown  0 0s"},
		{"free, and kept for a waiter, is nobody's", []MasterView{kept, free, held("a", 7, 1)}, "free  0 0s"},
		{"nobody answers", []MasterView{down, down, down}, "unknown  0 0s"},
	} {
		v := agreed(c.views, 2)
		if got := fmt.Sprintf("%s %s %d %v", v.State, v.Owner, v.Token, v.Remaining); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
