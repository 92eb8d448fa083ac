package redlock

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// Anybody who may publish on a client's channel can call it. However often that is
// done, on how many masters and for which name, the client sends little, and a
// notice that is true still counts.
func TestFalseNoticesMakeNobodyAsk(t *testing.T) {
	t.Parallel()
	const seconds = 2
	for what, x := range map[string]struct {
		on   []int
		key  func(d *deployment) string
		most int // calls to a master in that time
	}{
		"of one master":         {[]int{0}, func(*deployment) string { return script.KeysOf(limits.DefaultPrefix, "job", "").Lock }, 20},
		"of a quorum":           {[]int{0, 1}, func(*deployment) string { return script.KeysOf(limits.DefaultPrefix, "job", "").Lock }, 20},
		"of all masters":        {[]int{0, 1, 2}, func(*deployment) string { return script.KeysOf(limits.DefaultPrefix, "job", "").Lock }, 20},
		"for a name not waited": {[]int{0, 1, 2}, func(*deployment) string { return script.KeysOf(limits.DefaultPrefix, "other", "").Lock }, 20 + (seconds+1)*waitqueue.MaxUnwanted},
		"for another bucket":    {[]int{0, 1, 2}, func(*deployment) string { return limits.DefaultPrefix + ":{7}:lock:job" }, 20},
		"for a giant name": {[]int{0, 1, 2}, func(*deployment) string {
			return script.KeysOf(limits.DefaultPrefix, strings.Repeat("x", limits.MaxNameLen+1), "").Lock
		}, 20},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d, proxies := proxied(t, 3)
			a, b := faultClient(d), faultClient(d)
			held := mustTry(t, a, "job", WithTTL(time.Minute-time.Second), WithoutWatchdog())
			got := goLock(t, b, "job")
			d.inLine("job", 1)
			for _, p := range proxies {
				p.Forget()
			}
			ctx, cancel := context.WithTimeout(background, seconds*time.Second)
			defer cancel()
			var all sync.WaitGroup
			for _, i := range x.on {
				all.Go(func() {
					for ctx.Err() == nil {
						d.raw[i].Publish(background, b.channel, x.key(d))
						time.Sleep(time.Millisecond)
					}
				})
			}
			all.Wait()
			for i, p := range proxies {
				if n := p.Count(faultproxy.Match("evalsha")); n > x.most {
					t.Errorf("a waiter sent %d calls to master %d in %d s, want at most %d", n, i, seconds, x.most)
				}
			}
			must(t, held.Unlock(background))
			must(t, have(t, got).Unlock(background))
		})
	}
}
