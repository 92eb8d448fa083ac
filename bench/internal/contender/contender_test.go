package contender

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/redlock-go/redlock/bench/internal/server"
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

func TestFloorLocksAndUnlocks(t *testing.T) {
	masters, err := server.StartRedis(3, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer masters.Stop()
	client, err := openFloor(masters.Addrs)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}()
	held := make([]Held, 500)
	everyone := func(do func(i int) error) {
		var running sync.WaitGroup
		for i := range held {
			running.Go(func() {
				if err := do(i); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
	}
	for range 2 {
		everyone(func(i int) (err error) {
			held[i], err = client.Lock(t.Context(), fmt.Sprint("name-", i), false)
			return err
		})
		if _, err := client.Lock(t.Context(), "name-7", false); !errors.Is(err, errNoQuorum) {
			t.Errorf("lock of a name that is held = %v, want %v", err, errNoQuorum)
		}
		everyone(func(i int) error { return held[i].Unlock(t.Context()) })
	}
}
