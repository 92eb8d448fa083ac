package master

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redlock-go/redlock/internal/script"
)

// A batch carries one version, the newest of its requests. A request of an older one is not run at it: its yes would
// count in a round whose quorum is that of other members. Requests without a version run beside either.
func TestABatchRunsAtOneVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newLinked(t)
		ctx := context.Background()
		l := m.on()
		for _, x := range []struct {
			votes string // the version at which the master votes
			batch string // the versions of the requests; "-": it has none
			want  string // what each is answered: y yes, v it is at another version
			runs  string // 1: the master ran it
		}{
			{"1", "1 1", "y y", "1 1"},
			{"2", "1 2", "v y", "0 1"},
			{"2", "2 1", "y v", "1 0"},
			{"2", "1 2 1 -", "v y v y", "0 1 0 1"},
			{"1", "1 2", "v v", "0 0"}, // it has not learned of the newer version: nothing runs
			{"2", "1 -", "v y", "0 1"},
			{"2", "- -", "y y", "1 1"},
			{"10", "09 10", "v y", "0 1"},
		} {
			var batch []*Request
			var keys []string
			versions := strings.Fields(x.batch)
			answers := make([]script.Vote, len(versions))
			for i, version := range versions {
				owner := fmt.Sprint("owner", i)
				k := script.KeysOf("redlock", fmt.Sprint("job", i), owner)
				if err := m.raw.Set(ctx, k.Fence, int64(1_000_000_000_000), 0).Err(); err != nil {
					t.Fatal(err)
				}
				r := &Request{Version: version, To: answerInto{&answers[i]}}
				if version == "-" {
					r.Version = ""
					if err := m.raw.Set(ctx, k.Lock, owner+" 1 7 ", 0).Err(); err != nil {
						t.Fatal(err)
					}
					r.Call = script.Undo.Call([]*string{&k.Lock, &k.Gone, &k.Queue, &k.Asked}, &owner, 30_000, "", "")
					keys = append(keys, k.Gone)
				} else {
					r.Call = script.Acquire.Call([]*string{&k.Lock, &k.Fence, &k.Gone, &k.Queue}, &owner, 30_000)
					keys = append(keys, k.Lock)
				}
				batch = append(batch, r)
			}
			if err := m.raw.HSet(ctx, m.Register, "votes", x.votes).Err(); err != nil {
				t.Fatal(err)
			}
			l.serve(batch)
			var told, ran []string
			for i, v := range answers {
				switch {
				case v.Answer == script.Granted:
					told = append(told, "y")
				case v.Answer == script.Refused && v.Err == script.ErrVersion && !v.Doubt:
					told = append(told, "v")
				default:
					told = append(told, fmt.Sprintf("%+v", v))
				}
				ran = append(ran, fmt.Sprint(m.raw.Exists(ctx, keys[i]).Val()))
			}
			if got := strings.Join(told, " "); got != x.want {
				t.Errorf("it votes at %s, and the batch is of %s: answered %s, want %s", x.votes, x.batch, got, x.want)
			}
			if got := strings.Join(ran, " "); got != x.runs {
				t.Errorf("it votes at %s, and the batch is of %s: it ran %s, want %s", x.votes, x.batch, got, x.runs)
			}
			if err := m.raw.FlushAll(ctx).Err(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
