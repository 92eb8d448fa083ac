// Package growth measures how the cost of each piece of work changes when there are more names, waiters, clients or
// masters. A figure stays constant if the whole cost is proportional to the amount.
package growth

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/child"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/workload"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// row is one kind of growing work. measure returns values by unit. If measure repeats work, length is for how long.
type row struct {
	name    string
	ns      []int
	measure func(t testing.TB, n int, length time.Duration) map[string]float64
}

var rows = []row{
	{"names-held", []int{100, 1000, 10_000, 100_000, 1_000_000}, namesHeld},
	{"names-idle", []int{100, 10_000, 1_000_000}, namesIdle},
	{"names-new", []int{1000, 10_000, 100_000, 1_000_000, 10_000_000}, namesNew},
	{"waiters", []int{1, 10, 100, 1000, 10_000}, waiters},
	{"dead-waiters", []int{1, 10, 100, 1000, 10_000, 100_000}, deadWaiters},
	{"clients", []int{1, 10, 100, 1000}, clients},
	{"masters", []int{1, 3, 5, 7, 9}, masters},
	{"workers", []int{1, 4, 16, 64, 256, 1024, 4096}, workers},
	{"sets", []int{1, 2, 4, 8, 16, 32, 64}, sets},
}

var most = flag.Int("growth.most", 100_000, "the last n of all rows")

func TestMain(m *testing.M) {
	child.Main(workload.Roles)
	os.Exit(m.Run())
}

// BenchmarkGrowth needs -benchtime 1x: each n is measured once.
func BenchmarkGrowth(b *testing.B) {
	for _, r := range rows {
		b.Run(r.name, func(b *testing.B) {
			for _, n := range r.ns {
				if n > *most {
					break
				}
				b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
					for unit, value := range r.measure(b, n, 3*time.Second) {
						b.ReportMetric(value, unit)
					}
					b.ReportMetric(0, "ns/op") // removes the default metric
				})
			}
		})
	}
}

func TestRows(t *testing.T) {
	t.Parallel()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			values := r.measure(t, 1, 500*time.Millisecond)
			costs := false
			for unit, v := range values {
				if math.IsNaN(v) || math.IsInf(v, 0) { // memory may be below 0, when memory of other tests is freed
					t.Errorf("%v %s", v, unit)
				}
				costs = costs || v > 0
			}
			if !costs {
				t.Errorf("nothing costs anything: %v", values)
			}
		})
	}
}

// usualMasters is the number of masters in rows where n counts something else.
const usualMasters = 5

// patience is the longest wait for an event that should happen soon, on a busy machine.
const patience = time.Minute

// deployment has masters, and connections to them that do not use the library.
type deployment struct {
	*server.Running
	testing.TB
	direct []*redis.Client
}

func deploy(t testing.TB, opts ...redlock.Option) *deployment {
	t.Helper()
	on, err := server.StartRedis(usualMasters, 0, opts...)
	must(t, err)
	t.Cleanup(on.Stop)
	d := &deployment{Running: on, TB: t}
	for _, url := range on.Addrs {
		o, err := redis.ParseURL(url)
		must(t, err)
		r := redis.NewClient(o)
		t.Cleanup(func() { _ = r.Close() })
		d.direct = append(d.direct, r)
	}
	return d
}

// open returns a client that waits longer for masters than the default, because the machine is busy. The caller need
// not close it.
func (d *deployment) open(opts ...redlock.Option) *redlock.Client {
	d.Helper()
	c, err := redlock.Open(d.Addrs, append([]redlock.Option{redlock.WithRequestTimeout(redisproc.RequestTimeout)}, opts...)...)
	must(d, err)
	d.Cleanup(func() { must(d, c.Close()) })
	return c
}

// mean returns the mean over all masters of a number in INFO, such as used_memory.
func (d *deployment) mean(section, field string) float64 {
	d.Helper()
	pattern := regexp.MustCompile(`(?m)^` + field + `[:=](\d+)`)
	return d.each(func(r *redis.Client) (float64, error) {
		text, err := r.Info(context.Background(), section).Result()
		if err != nil {
			return 0, err
		}
		found := pattern.FindStringSubmatch(text)
		if found == nil {
			return 0, fmt.Errorf("INFO %s has no %s", section, field)
		}
		return strconv.ParseFloat(found[1], 64)
	})
}

// keys returns the masters' mean number of keys.
func (d *deployment) keys() float64 { return d.mean("keyspace", "db0:keys") }

func (d *deployment) each(of func(*redis.Client) (float64, error)) (mean float64) {
	d.Helper()
	for _, r := range d.direct {
		v, err := of(r)
		must(d, err)
		mean += v / float64(len(d.direct))
	}
	return mean
}

// costs returns the processor time that this process and the masters use during do().
func (d *deployment) costs(do func()) (client, masters time.Duration) {
	client, masters = server.CPU(os.Getpid()), d.CPU()
	do()
	return server.CPU(os.Getpid()) - client, d.CPU() - masters
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until waits for a state. It asks less and less often, so that a long wait does not disturb the measurement.
func until(t testing.TB, what string, state func() bool) {
	t.Helper()
	begun := time.Now()
	for pause := time.Millisecond; !state(); pause = max(time.Millisecond, time.Since(begun)/50) {
		if time.Since(begun) > patience {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(pause)
	}
}

// atOnce calls do() n times, 64 at a time. It fails the test if a call fails.
func atOnce(t testing.TB, n int, do func(i int) error) {
	t.Helper()
	var next atomic.Int64
	errs := make([]error, min(64, n))
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[w] = do(i)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		must(t, err)
	}
}

// heap returns the bytes in use after a collection.
func heap() float64 {
	runtime.GC()
	runtime.GC() // the second collection frees what was in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// micros and millis return d/n, in microseconds and in milliseconds.
func micros(d time.Duration, n int) float64 { return d.Seconds() * 1e6 / float64(n) }
func millis(d time.Duration, n int) float64 { return d.Seconds() * 1e3 / float64(n) }
