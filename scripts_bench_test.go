package redlock

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/redisproc"
)

// BenchmarkScripts tells what the two scripts of a pair cost a master by its own
// clock when nothing else keeps the machine busy, and what of that calling any
// script costs: no other layout of the keys can save more than what is between.
func BenchmarkScripts(b *testing.B) {
	servers, err := redisproc.StartN(1, redisproc.Config{})
	if errors.Is(err, redisproc.ErrNotInstalled) {
		b.Skipf("NOT RUN, no redis-server: %v", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = servers[0].Stop() })
	r := redis.NewClient(&redis.Options{Addr: servers[0].Addr()})
	b.Cleanup(func() { _ = r.Close() })

	terms := termsOf(DefaultTTL, 0, 0)
	var pairs, nothing [2][][]any
	for i := range 64 {
		h := &hold{owner: fmt.Sprintf("the-owner-of-benchmark-%020d", i), depth: 1}
		h.keys = keysOf(DefaultPrefix, fmt.Sprint("job", i), h.owner)
		if err := r.Set(b.Context(), h.keys.fence, 1_000_000, 0).Err(); err != nil {
			b.Fatal(err)
		}
		for step, line := range [][]any{h.acquireLine(1, terms, nowhere), h.releaseLine(0, 0, nowhere)} {
			pairs[step] = append(pairs[step], line)
			nothing[step] = append(nothing[step], append([]any{line[0], newScript("nothing", "return 1", yesOrNotMine).sha}, line[2:]...))
		}
	}
	for _, source := range []string{acquireScript.source, releaseScript.source, "return 1"} {
		if err := r.ScriptLoad(b.Context(), source).Err(); err != nil {
			b.Fatal(err)
		}
	}
	for _, bench := range []struct {
		name  string
		steps [2][][]any
	}{{"pair", pairs}, {"nothing", nothing}} {
		b.Run(bench.name, func(b *testing.B) {
			before := scriptTime(b, r)
			for done := 0; done < b.N; done += len(pairs[0]) {
				for _, lines := range bench.steps {
					runAll(b, r, lines[:min(len(lines), b.N-done)])
				}
			}
			b.ReportMetric(float64((scriptTime(b, r)-before).Nanoseconds())/float64(b.N), "master-ns/op")
		})
	}
}

// runAll sends the lines in one pipeline; each must be granted.
func runAll(b *testing.B, r *redis.Client, lines [][]any) {
	b.Helper()
	replies, err := r.Pipelined(b.Context(), func(p redis.Pipeliner) error {
		for _, line := range lines {
			p.Do(context.Background(), line...)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, reply := range replies {
		if n, err := reply.(*redis.Cmd).Int64(); err != nil || n <= 0 {
			b.Fatalf("%v: %d, %v", reply.Args(), n, err)
		}
	}
}

var scriptUsec = regexp.MustCompile(`cmdstat_evalsha:calls=\d+,usec=(\d+)`)

// scriptTime is what the master says that it has spent in scripts.
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
