package scripts_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// An operation that fails has an error of its own, and those before and behind it are done all the
// same.
func TestOneOperationsErrorIsItsOwn(t *testing.T) {
	t.Parallel()
	both := bothKinds(t)
	terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
	holdOf := func(name string) *lease.Owner {
		return &lease.Owner{ID: "owner-of-" + name, Keys: script.KeysOf(limits.DefaultPrefix, name, "owner-of-"+name), Token: 2000}
	}
	for _, one := range []struct {
		what, err string
		harm      func(k script.Keys, r *redis.Client) error
		calls     func(h *lease.Owner) []script.Call
		out       bool // the master is no member any more
	}{
		{"wrong type of lock", "WRONGTYPE", func(k script.Keys, r *redis.Client) error { return r.RPush(context.Background(), k.Lock, "x").Err() },
			func(h *lease.Owner) []script.Call {
				return []script.Call{h.AcquireCall(terms, lease.Place{}), h.ExtendCall(terms), h.RepairCall(1, terms), h.ReleaseCall()} // for a confirm it is another's
			}, false},
		{"missing counter", "NOTMEMBER", func(k script.Keys, r *redis.Client) error { return r.Del(context.Background(), k.Fence).Err() },
			func(h *lease.Owner) []script.Call {
				return []script.Call{h.AcquireCall(terms, lease.Place{}), h.RepairCall(1, terms)}
			}, true},
		{"counter that is no number", "NOTMEMBER", func(k script.Keys, r *redis.Client) error {
			return r.Set(context.Background(), k.Fence, "abc", 0).Err()
		},
			func(h *lease.Owner) []script.Call {
				return []script.Call{h.AcquireCall(terms, lease.Place{}), h.RepairCall(1, terms)}
			}, true},
		{"wrong type of counter", "NOTMEMBER", func(k script.Keys, r *redis.Client) error {
			return errors.Join(r.Del(context.Background(), k.Fence).Err(), r.RPush(context.Background(), k.Fence, "x").Err())
		}, func(h *lease.Owner) []script.Call {
			return []script.Call{h.AcquireCall(terms, lease.Place{}), h.RepairCall(1, terms)}
		}, true},
		{"an owner that gave up", "GONE", func(k script.Keys, r *redis.Client) error {
			return errors.Join(r.Set(context.Background(), k.Gone, "", 0).Err(), r.ZAdd(context.Background(), k.Queue, redis.Z{Member: "nobody"}).Err())
		}, func(h *lease.Owner) []script.Call { return []script.Call{h.AcquireCall(terms, lease.Place{})} }, false},
	} {
		for kind, r := range both {
			t.Run(one.what+"/"+kind, func(t *testing.T) {
				harness.Must(t, r.FlushAll(context.Background()).Err())
				before, harmed, behind := holdOf("before"), holdOf("harmed"), holdOf("behind")
				for _, h := range []*lease.Owner{before, harmed, behind} {
					harness.Must(t, r.Set(context.Background(), h.Keys.Fence, 1000, 0).Err())
				}
				for _, bad := range one.calls(harmed) {
					harness.Must(t, memberOfOne(r))
					harness.Must(t, one.harm(harmed.Keys, r))
					calls := []script.Call{before.AcquireCall(terms, lease.Place{}), bad, behind.AcquireCall(terms, lease.Place{}), behind.ReleaseCall()}
					replies, err := harness.RunBatch(script.BatchSource, r, calls...)
					harness.Must(t, err)
					if len(replies) != len(calls) {
						t.Fatalf("%s: %d replies: %v", bad.Name, len(replies), replies)
					}
					if one.out {
						if replies[2] != "VERSION 1" {
							t.Errorf("%s: it votes on: %v", bad.Name, replies)
						}
						replies[2], replies[3] = int64(1), int64(1)
					}
					for _, i := range []int{0, 2, 3} {
						if n, ok := replies[i].(int64); !ok || n <= 0 {
							t.Errorf("%s: the reply of %s is %v", bad.Name, calls[i].Name, replies[i])
						}
					}
					if text, ok := replies[1].(string); !ok || !strings.Contains(text, one.err) {
						t.Errorf("%s: the reply is %v; want an error with %q", bad.Name, replies[1], one.err)
					}
				}
			})
		}
	}
}

// A master that is out of memory refuses what needs some, operation by operation. (Sent as an
// error, go-redis would stop reading the batch's replies there.)
func TestOutOfMemoryFailsOperationsNotTheBatch(t *testing.T) {
	t.Parallel()
	r := harness.Processes(t, 1, redisproc.Config{}).Raw[0]
	harness.Must(t, memberOfOne(r))
	terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
	held := &lease.Owner{ID: "a", Keys: script.KeysOf(limits.DefaultPrefix, "held", "a")}
	fresh := &lease.Owner{ID: "b", Keys: script.KeysOf(limits.DefaultPrefix, "fresh", "b")}
	for _, h := range []*lease.Owner{held, fresh} {
		harness.Must(t, r.Set(context.Background(), h.Keys.Fence, 1000, 0).Err())
	}
	_, err := harness.CallIn(script.BatchSource, r, held.AcquireCall(terms, lease.Place{}))
	harness.Must(t, err)
	harness.Must(t, r.ConfigSet(context.Background(), "maxmemory", "1").Err())
	replies, err := harness.RunBatch(script.BatchSource, r, fresh.AcquireCall(terms, lease.Place{}), held.ExtendCall(terms), held.ReleaseCall())
	harness.Must(t, err)
	if text, ok := replies[0].(string); !ok || !strings.Contains(text, "OOM") {
		t.Errorf("the acquire is told %v", replies[0])
	}
	for i, reply := range replies[1:] {
		if n, ok := reply.(int64); !ok || n <= 0 {
			t.Errorf("reply %d is %v", i+1, reply)
		}
	}
}

// Behind each operation, the next one of the batch has its own keys and arguments, also where this
// master does not vote.
func TestWhatComesBehindAnOperationIsItsOwn(t *testing.T) {
	t.Parallel()
	terms, channel := quorum.TermsOf(limits.DefaultTTL, 0, 0), "c"
	one, two := script.KeysOf(limits.DefaultPrefix, "one", "first"), script.KeysOf(limits.DefaultPrefix, "two", "second")
	writer, reader, second := lease.Owner{ID: "first", Keys: one, Token: 9}, lease.Owner{ID: "first", Keys: one, Last: 9}, lease.Owner{ID: "second", Keys: two}
	reader.Reads.Store(true)
	behind := second.AcquireCall(terms, lease.Place{})
	for kind, r := range bothKinds(t) {
		for _, before := range []script.Call{
			writer.AcquireCall(terms, lease.Place{}),
			writer.AcquireCall(terms, lease.Place{Channel: &channel}),
			writer.JointCall(terms, 1),
			writer.ReenterCall(2, terms),
			writer.ConfirmCall(7),
			writer.ExtendCall(terms),
			writer.RepairCall(1, terms),
			script.Verify.Call([]*string{&one.Lock}, uint64(9)),
			writer.ExitCall(1),
			writer.ReleaseCall(),
			writer.PassCall(&channel),
			writer.UndoCall(0, lease.Place{}),
			writer.LingerCall(limits.DefaultTTL, 0),
			reader.AcquireCall(terms, lease.Place{}),
			reader.StayCall(terms),
			reader.ConfirmCall(0),
			reader.RepairCall(1, terms),
			script.Leave.Call([]*string{&one.Lock, &one.Queue, &one.Asked}, &channel),
		} {
			for version, want := range map[string]string{"1": "8", "2": "VERSION 1"} {
				harness.Must(t, r.FlushAll(context.Background()).Err())
				harness.Must(t, memberOfOne(r))
				harness.Must(t, r.MSet(context.Background(), one.Fence, 7, two.Fence, 7).Err())
				replies, err := harness.RunBatchAt(script.BatchSource, r, version, before, behind)
				harness.Must(t, err)
				holder, _, _ := strings.Cut(r.Get(context.Background(), two.Lock).Val(), " ")
				if got := fmt.Sprint(replies[1]); got != want || (holder == second.ID) != (version == "1") {
					t.Errorf("%s: behind %s at version %s the reply is %s, want %s, and %q holds the lock", kind, before.Name, version, got, want, holder)
				}
			}
		}
	}
}
