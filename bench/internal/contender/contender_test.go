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

// A floor must do the work that its speed is a measure of.
func TestFloorsLockAndUnlock(t *testing.T) {
	for _, name := range []string{"floor-batch", "floor-group", "floor-parallel"} {
		t.Run(name, func(t *testing.T) {
			masters, err := server.StartRedis(server.RedisConfig{Masters: 3})
			if err != nil {
				t.Fatal(err)
			}
			defer masters.Stop()
			client, err := ByName(name).Open(masters.Addrs)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := client.Close(); err != nil {
					t.Error(err)
				}
			}()
			held := make([]Held, 2*floorBatch) // more than one batch
			for range 2 {
				everyone(held, func(i int) {
					var err error
					if held[i], err = client.Lock(t.Context(), fmt.Sprint("name-", i), false); err != nil {
						t.Error(err)
					}
				})
				if _, err := client.Lock(t.Context(), "name-7", false); !errors.Is(err, errNoQuorum) {
					t.Errorf("lock of a name that is held = %v, want %v", err, errNoQuorum)
				}
				everyone(held, func(i int) {
					if err := held[i].Unlock(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

func everyone(held []Held, do func(i int)) {
	var running sync.WaitGroup
	for i := range held {
		running.Go(func() { do(i) })
	}
	running.Wait()
}
