package redlock

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// What somebody may have written where it is noted who may vote.
var malformed = map[string]func(r *redis.Client, key string) error{
	"no words":      func(r *redis.Client, key string) error { return r.Set(background, key, "\x00\x1b[31m", 0).Err() },
	"no format":     func(r *redis.Client, key string) error { return r.Set(background, key, "in ff x y yes", 0).Err() },
	"too few words": func(r *redis.Client, key string) error { return r.Set(background, key, "in ff", 0).Err() },
	"no number":     func(r *redis.Client, key string) error { return r.Set(background, key, "out ff -1", 0).Err() },
	"a hash": func(r *redis.Client, key string) error {
		_, err := r.TxPipelined(background, func(p redis.Pipeliner) error {
			p.Del(background, key)
			p.HSet(background, key, "in", "ff")
			return nil
		})
		return err
	},
}

// What nobody can have written is repaired: by Init at once, on a majority too.
func TestInitRepairsWhatWasNotedOfMasters(t *testing.T) {
	t.Parallel()
	for what, write := range malformed {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d := processes(t, 3, redisproc.Config{})
			first := d.founded(recoveryOptions()...)
			before := mustTry(t, first, "job")
			must(t, before.Unlock(background))
			requireFree(t, d, "job")
			for _, i := range []int{0, 1} {
				must(t, write(d.raw[i], DefaultPrefix+":admitted"))
			}
			c := d.client(recoveryOptions()...)
			err := c.mustFail(t, "job")
			requireErr(t, err, ErrNoQuorum, ErrNotAdmitted)
			must(t, c.Init(background, 0))
			lock, err := c.Lock(background, "job", WithWait(patience))
			must(t, err)
			if lock.Token() <= before.Token() {
				t.Errorf("token %d after %d", lock.Token(), before.Token())
			}
			must(t, lock.Unlock(background))
		})
	}
}

// Why a master cannot be looked into comes through, in a lock's error and in Init's.
func TestWhyAMasterIsNotAdmitted(t *testing.T) {
	t.Parallel()
	for cause, spoil := range map[string]func(r *redis.Client) error{
		"NOPERM": func(r *redis.Client) error {
			return r.Do(background, "acl", "setuser", "default", "-eval", "-evalsha").Err()
		},
		"keys are of format 7": func(r *redis.Client) error {
			return r.Set(background, DefaultPrefix+":admitted", fmt.Sprintf("in ff 7 %d yes", script.Buckets), 0).Err()
		},
	} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			d := processes(t, 3, redisproc.Config{})
			must(t, spoil(d.raw[1]))
			c := d.client(recoveryOptions()...) // of new masters: all are needed
			err := c.mustFail(t, "job")
			requireErr(t, err, ErrNoQuorum, ErrNotAdmitted)
			if !strings.Contains(err.Error(), cause) {
				t.Errorf("TryLock: %v", err)
			}
			err = c.Init(background, 0)
			requireErr(t, err, ErrNoQuorum)
			if !strings.Contains(err.Error(), cause) || !strings.Contains(err.Error(), d.raw[1].Options().Addr) {
				t.Errorf("Init: %v", err)
			}
			if noted := d.raw[0].Exists(background, DefaultPrefix+":admitted").Val(); noted != 0 && cause != "NOPERM" {
				t.Error("Init noted that a new master may not vote")
			}
		})
	}
}

// PlanInit tells of each master, and changes nothing.
func TestPlanInit(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{})
	c := d.founded(recoveryOptions()...)
	must(t, d.raw[0].FlushAll(background).Err())
	must(t, d.raw[1].Set(background, script.FenceKey(DefaultPrefix, 7), "abc", 0).Err())
	must(t, d.raw[1].Set(background, DefaultPrefix+":admitted", "\x1b[31m", 0).Err())
	plan, err := c.PlanInit(background, script.MaxFloor)
	must(t, err)
	want := []InitMaster{
		{State: "was never used, or lost all its data", Lost: script.Buckets, Counters: script.Buckets},
		{State: `its note of who may vote is corrupt: "\x1b[31m"`, Lost: 1, Counters: script.Buckets},
		{State: "may vote", Counters: script.Buckets},
	}
	for i, is := range plan.Masters {
		want[i].Master = d.raw[i].Options().Addr
		if is != want[i] {
			t.Errorf("%+v, want %+v", is, want[i])
		}
	}
	if plan.AtLeast != script.MaxFloor {
		t.Errorf("at least %d", plan.AtLeast)
	}
	if keys := d.raw[0].DBSize(background).Val(); keys != 0 {
		t.Errorf("%d keys were written", keys)
	}
	if counter := d.raw[1].Get(background, script.FenceKey(DefaultPrefix, 7)).Val(); counter != "abc" {
		t.Errorf("a counter is %q now", counter)
	}
	requireOptionError(t, second(c.PlanInit(background, script.MaxFloor+1)), "floor")

	d.masters[2].die()
	plan, err = c.PlanInit(background, 0)
	requireErr(t, err, ErrNoQuorum)
	if len(plan.Masters) != 3 || plan.Masters[0].Err != nil || plan.Masters[2].Err == nil {
		t.Errorf("%+v", plan)
	}
	if now := time.Now().UnixMilli(); int64(plan.AtLeast) > now || int64(plan.AtLeast) < now-time.Hour.Milliseconds() {
		t.Errorf("at least %d", plan.AtLeast)
	}
}

func second[T any](_ T, err error) error { return err }
