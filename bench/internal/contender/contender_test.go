package contender

import (
	"context"
	"testing"
)

func TestBallot(t *testing.T) {
	for _, c := range []struct {
		votes string
		want  error
	}{
		{"y", nil}, {"n", errNoQuorum}, {"yny", nil}, {"ynn", errNoQuorum}, {"nynyy", nil}, {"yynnn", errNoQuorum}, {"nnnyy", errNoQuorum},
	} {
		b := newBallot(len(c.votes))
		for _, v := range c.votes {
			b.vote(v == 'y')
		}
		if got := b.await(context.Background()); got != c.want {
			t.Errorf("%s: %v, want %v", c.votes, got, c.want)
		}
	}
}

func TestFloorRunsTheScriptsOfTheLibrary(t *testing.T) {
	s, err := loadFloorScripts()
	if err != nil {
		t.Fatal(err)
	}
	if s.acquire.Hash() == s.release.Hash() {
		t.Error("the scripts are the same")
	}
}
