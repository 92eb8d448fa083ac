package growth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/server"
)

func namesNew() Row {
	return Row{
		Name: "names-new", Title: "names locked in turn, each once, by 64 workers, on 5 masters", Of: "names",
		Figures: []Figure{{"speed", "pairs/s"}, {"client memory after", "kB"}, {"a master's memory after", "kB"}, {"keys after", "on a master"}},
		ns:      []int{1000, 10_000, 100_000, 1_000_000, 10_000_000}, usual: 100_000, measure: measureNamesNew,
	}
}

func measureNamesNew(n int, _ Settings) (values []float64, err error) {
	d, err := deploy(server.RedisConfig{Masters: usualMasters})
	if err != nil {
		return nil, err
	}
	defer d.stop()
	var speed, client float64
	if err := d.with(nil, func(c *redlock.Client) error {
		begun := time.Now()
		if err := atOnce(takers, n, func(i int) error {
			lock, err := c.Lock(context.Background(), fmt.Sprintf("new-%09d", i), redlock.WithWait(patience))
			if err != nil {
				return err
			}
			return lock.Unlock(context.Background())
		}); err != nil {
			return err
		}
		speed, client = float64(n)/time.Since(begun).Seconds(), heap()
		return nil
	}); err != nil {
		return nil, err
	}
	master, err := d.mean("memory", "used_memory")
	keys, err2 := d.keys()
	return []float64{speed, client / 1e3, master / 1e3, keys}, errors.Join(err, err2)
}
