package scripts_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/direct"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testskip"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// BenchmarkBatch reports, for each batch size, how much of the master's time an acquire and a release take, and
// how long one batch blocks the master. maxBatch was chosen from this. "unchecked" leaves out the check of the
// version.
func BenchmarkBatch(b *testing.B) {
	r := benchMaster(b)
	const check = "register[1] == ARGV[1]"
	if !strings.Contains(script.BatchSource, check) {
		b.Fatal("header.lua no longer has the check that is left out here")
	}
	sources := map[string]string{"": script.BatchSource, "/unchecked": strings.Replace(script.BatchSource, check, "true", 1)}
	for _, c := range []struct {
		size   int
		source string
	}{{1, ""}, {1, "/unchecked"}, {8, ""}, {8, "/unchecked"}, {32, ""}, {64, ""}, {128, ""}, {256, ""}, {512, ""}} {
		size := c.size
		b.Run(strconv.Itoa(size)+c.source, func(b *testing.B) {
			sha, err := r.ScriptLoad(b.Context(), sources[c.source]).Result()
			if err != nil {
				b.Fatal(err)
			}
			var acquires, releases []script.Call
			for i := range size {
				h := &lease.Owner{ID: fmt.Sprintf("the-owner-of-benchmark-%020d", i)}
				h.Keys = script.KeysOf(limits.DefaultPrefix, fmt.Sprint("job", i), h.ID)
				if err := r.Set(b.Context(), h.Keys.Fence, 1_000_000, 0).Err(); err != nil {
					b.Fatal(err)
				}
				acquires = append(acquires, h.AcquireCall(quorum.TermsOf(limits.DefaultTTL, 0, 0), lease.Place{}))
				releases = append(releases, h.ReleaseCall())
			}
			before, cpu, batches := scriptTime(b, r), masterCPU(b, r), 0
			for done := 0; done < b.N; done += size {
				grantAll(b, r, sha, acquires)
				grantAll(b, r, sha, releases)
				batches += 2
			}
			took := scriptTime(b, r) - before
			b.ReportMetric(float64(took.Nanoseconds())/float64(batches/2*size), "master-ns/pair")
			b.ReportMetric((masterCPU(b, r)-cpu)*1e9/float64(batches/2*size), "master-cpu-ns/pair")
			b.ReportMetric(float64(took.Microseconds())/float64(batches), "master-us/batch")
		})
	}
}

// BenchmarkHandOver reports how much of a master's time a hand-over among 8 clients takes. A hand-over is a release
// that grants the lock to a waiter, and the enqueue of the client that released.
func BenchmarkHandOver(b *testing.B) {
	r := benchMaster(b)
	sha, err := r.ScriptLoad(b.Context(), script.BatchSource).Result()
	if err != nil {
		b.Fatal(err)
	}
	const clients = 8
	line := make([]*lease.Owner, clients)
	enqueue := func(turn int) {
		h := &lease.Owner{ID: fmt.Sprintf("the-owner-of-benchmark-%020d", turn)}
		h.Keys = script.KeysOf(limits.DefaultPrefix, "job", h.ID)
		if turn == 0 {
			if err := r.Set(b.Context(), h.Keys.Fence, 1_000_000, 0).Err(); err != nil {
				b.Fatal(err)
			}
		}
		channel := fmt.Sprintf("%schannel-of-benchmark-%d", limits.DefaultPrefix, turn%clients)
		in := lease.Place{Channel: &channel, Ticket: waitqueue.TicketOf(strconv.FormatInt(1_500_000_000_000_000+int64(turn), 10)), Takes: time.Second}
		line[turn%clients] = h
		if turn < clients {
			sub := r.Subscribe(b.Context(), channel)
			b.Cleanup(func() { _ = sub.Close() })
			go func() {
				for range sub.Channel() { // without a reader, its goroutine outlives Close by a minute
				}
			}()
		}
		if _, err := direct.Run(b.Context(), r, "evalsha", sha, limits.DefaultPrefix, "one@1", h.AcquireCall(quorum.TermsOf(limits.DefaultTTL, 0, 0), in)); err != nil {
			b.Fatal(err)
		}
	}
	for turn := range clients {
		enqueue(turn)
	}
	before, cpu := scriptTime(b, r), masterCPU(b, r)
	b.ResetTimer()
	for turn := range b.N {
		grantAll(b, r, sha, []script.Call{line[turn%clients].ReleaseCall()})
		enqueue(turn + clients)
	}
	b.ReportMetric(float64((scriptTime(b, r)-before).Nanoseconds())/float64(b.N), "master-ns/hold")
	b.ReportMetric((masterCPU(b, r)-cpu)*1e9/float64(b.N), "master-cpu-ns/hold")
}

// BenchmarkLook reports the time that a master needs to check whether it may vote. The check runs with each batch, as often as in the library, or never. There are few connections, or a thousand.
func BenchmarkLook(b *testing.B) {
	const every = "lookEvery = 10"
	if strings.Count(script.BatchSource, every) != 1 {
		b.Fatal("the batch script no longer has the bound that is changed here")
	}
	for _, clients := range []int{1, 1000} {
		r := benchMaster(b)
		for range clients - 1 {
			c := redis.NewClient(&redis.Options{Addr: r.Options().Addr, PoolSize: 1})
			b.Cleanup(func() { _ = c.Close() })
			if err := c.Ping(b.Context()).Err(); err != nil {
				b.Fatal(err)
			}
		}
		for _, x := range []struct{ name, every string }{{"always", "0"}, {"each-10ms", "10"}, {"never", "1e15"}} {
			b.Run(fmt.Sprintf("clients=%d/%s", clients, x.name), func(b *testing.B) {
				source := strings.Replace(script.BatchSource, every, strings.TrimSuffix(every, "10")+x.every, 1)
				sha, err := r.ScriptLoad(b.Context(), source).Result()
				if err != nil {
					b.Fatal(err)
				}
				h := &lease.Owner{ID: "the-owner-of-benchmark", Keys: script.KeysOf(limits.DefaultPrefix, "job", "the-owner-of-benchmark")}
				if err := r.Set(b.Context(), h.Keys.Fence, 1_000_000, 0).Err(); err != nil {
					b.Fatal(err)
				}
				before := scriptTime(b, r)
				for range b.N {
					grantAll(b, r, sha, []script.Call{h.AcquireCall(quorum.TermsOf(limits.DefaultTTL, 0, 0), lease.Place{})})
					grantAll(b, r, sha, []script.Call{h.ReleaseCall()})
				}
				b.ReportMetric(float64((scriptTime(b, r)-before).Nanoseconds())/float64(2*b.N), "master-ns/batch")
			})
		}
	}
}

// benchMaster starts a redis-server, and makes it the only member.
func benchMaster(b *testing.B) *redis.Client {
	b.Helper()
	servers, err := redisproc.StartN(1, redisproc.Config{})
	testskip.IfLacking(b, err, redisproc.ErrNotInstalled)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = servers[0].Stop() })
	r := redis.NewClient(&redis.Options{Addr: servers[0].Addr()})
	b.Cleanup(func() { _ = r.Close() })
	if err := memberOfOne(r); err != nil {
		b.Fatal(err)
	}
	return r
}

// grantAll runs the calls in one batch. The benchmark fails unless each call is granted.
func grantAll(b *testing.B, r *redis.Client, sha string, calls []script.Call) {
	b.Helper()
	replies, err := direct.Run(context.Background(), r, "evalsha", sha, limits.DefaultPrefix, "one@1", calls...)
	if err != nil {
		b.Fatal(err)
	}
	for i, reply := range replies {
		if n, ok := reply.(int64); !ok || n <= 0 {
			b.Fatalf("%v: %v", calls[i].Args(), reply)
		}
	}
}

var cpuSeconds = regexp.MustCompile(`used_cpu_(?:sys|user):([\d.]+)`)

// masterCPU returns the processor time that the master has used, in seconds.
func masterCPU(b *testing.B, r *redis.Client) (sum float64) {
	b.Helper()
	info, err := r.Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for _, found := range cpuSeconds.FindAllStringSubmatch(info, -1) {
		seconds, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += seconds
	}
	return sum
}

var scriptUsec = regexp.MustCompile(`cmdstat_evalsha:calls=\d+,usec=(\d+)`)

// scriptTime returns the time that the master has spent in scripts, from the master's statistics.
func scriptTime(b *testing.B, r *redis.Client) time.Duration {
	b.Helper()
	info, err := r.Info(b.Context(), "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	found := scriptUsec.FindStringSubmatch(info)
	if found == nil {
		return 0
	}
	usec, err := strconv.ParseInt(found[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(usec) * time.Microsecond
}
