package growth

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/server"
)

// usualMasters is how many there are, but where they grow.
const usualMasters = 5

// patience is for what should happen soon, on a machine that is busy.
const patience = time.Minute

// deployment is masters, with connections that go past the library.
type deployment struct {
	*server.Running
	direct []*redis.Client
}

// deploy starts masters that are a deployment. The caller must call stop.
func deploy(cfg server.RedisConfig) (*deployment, error) {
	on, err := server.StartRedis(cfg)
	if err != nil {
		return nil, err
	}
	d := &deployment{Running: on}
	for _, url := range on.Addrs {
		o, err := redis.ParseURL(url)
		if err != nil {
			d.stop()
			return nil, err
		}
		d.direct = append(d.direct, redis.NewClient(o))
	}
	return d, nil
}

func (d *deployment) stop() {
	for _, r := range d.direct {
		_ = r.Close()
	}
	d.Stop()
}

// with runs work with a client of d, and closes it.
func (d *deployment) with(opts []redlock.Option, work func(c *redlock.Client) error) error {
	c, err := redlock.Open(d.Addrs, opts...)
	if err != nil {
		return err
	}
	return errors.Join(work(c), c.Close())
}

// mean is the mean over all masters of a number in INFO, such as used_memory.
func (d *deployment) mean(section, field string) (float64, error) {
	told := regexp.MustCompile(`(?m)^` + field + `:(\d+)`)
	return d.each(func(r *redis.Client) (float64, error) {
		text, err := r.Info(context.Background(), section).Result()
		if err != nil {
			return 0, err
		}
		found := told.FindStringSubmatch(text)
		if found == nil {
			return 0, fmt.Errorf("INFO %s has no %s", section, field)
		}
		return strconv.ParseFloat(found[1], 64)
	})
}

// keys is the mean over all masters of how many keys there are.
func (d *deployment) keys() (float64, error) {
	return d.each(func(r *redis.Client) (float64, error) {
		n, err := r.DBSize(context.Background()).Result()
		return float64(n), err
	})
}

func (d *deployment) each(of func(*redis.Client) (float64, error)) (mean float64, err error) {
	for _, r := range d.direct {
		v, err := of(r)
		if err != nil {
			return 0, err
		}
		mean += v / float64(len(d.direct))
	}
	return mean, nil
}

// until asks for a state, more and more seldom, so that what takes long is not disturbed.
func until(what string, state func() (bool, error)) error {
	begun := time.Now()
	for pause := time.Millisecond; ; pause = max(time.Millisecond, time.Since(begun)/50) {
		if ok, err := state(); ok || err != nil {
			return err
		}
		if time.Since(begun) > patience {
			return fmt.Errorf("not within %v: %s", patience, what)
		}
		time.Sleep(pause)
	}
}

// heap is what is in use, without what nobody refers to any more.
func heap() float64 {
	runtime.GC()
	runtime.GC() // the second takes what the first found in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// micros and millis are d in these units, spread over n.
func micros(d time.Duration, n int) float64 { return d.Seconds() * 1e6 / float64(n) }
func millis(d time.Duration) float64        { return d.Seconds() * 1e3 }
