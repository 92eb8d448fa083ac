package redlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

func mustInspect(t *testing.T, c *Client, name string) Inspection {
	t.Helper()
	in, err := c.Inspect(background, name)
	must(t, err)
	return in
}

// announced waits until all masters know who c is.
func (d *deployment) announced(c *Client) {
	d.t.Helper()
	eventually(d.t, "all masters know the client", func() bool { return d.knowing(c) == len(d.raw) })
}

// knowing is how many masters know who c is.
func (d *deployment) knowing(c *Client) (n int) {
	for _, r := range d.raw {
		if r.Exists(background, script.ClientKey(DefaultPrefix, c.id)).Val() == 1 {
			n++
		}
	}
	return n
}

func inspectNamesReaders(t *testing.T, d *deployment) {
	one, other, asker := d.reached(WithName("one")), d.reached(WithName("other")), d.reached()
	long, err := one.TryRLock(background, "job", WithTTL(2*d.ttl()))
	must(t, err)
	short, err := other.TryRLock(background, "job", WithTTL(d.ttl()), WithoutWatchdog())
	must(t, err)
	d.announced(one)
	d.announced(other)
	settled(t, one)
	settled(t, other)
	in := mustInspect(t, asker, "job")
	q := in.Quorum
	if q.State != LockRead || q.Owner != "" || q.Token != 0 || len(q.Readers) != 2 {
		t.Fatalf("the quorum has %+v", q)
	}
	for i, want := range []struct {
		name string
		lock *Lock
		ttl  time.Duration
	}{{"other", short, d.ttl()}, {"one", long, 2 * d.ttl()}} {
		if r := q.Readers[i]; r.Holder.Name != want.name || r.Owner != want.lock.h.ID || r.Remaining <= 0 || r.Remaining > want.ttl {
			t.Errorf("reader %d is %+v, want %s", i, r, want.name)
		}
	}
	if q.Remaining != q.Readers[1].Remaining {
		t.Errorf("free in %v, and the last reader ends in %v", q.Remaining, q.Readers[1].Remaining)
	}

	d.drop(one, "job", 0, 1, 2) // no majority has them
	if q := mustInspect(t, asker, "job").Quorum; q.State == LockRead || len(q.Readers) > 0 {
		t.Errorf("on two of five masters: %+v", q)
	}
	_ = errors.Join(long.Unlock(background), short.Unlock(background))
}

func inspectNamesTheHolder(t *testing.T, d *deployment) {
	holder, asker := d.client(WithName("payroll"), WithTTL(d.ttl()), WithRequestTimeout(d.request())), d.client(WithRequestTimeout(d.request()))
	in := mustInspect(t, asker, "job")
	if !reflect.DeepEqual(in.Quorum, LockView{State: LockFree}) || in.Name != "job" || in.Need != 3 || len(in.Masters) != 5 {
		t.Errorf("nobody has it: %+v", in)
	}

	lock := mustTry(t, holder, "job")
	d.announced(holder)
	settled(t, holder)
	host, _ := os.Hostname()
	want := Holder{Client: holder.id, Name: "payroll", Host: host, PID: os.Getpid()}
	in = mustInspect(t, asker, "job")
	q := in.Quorum
	if q.State != LockHeld || q.Holder != want || q.Token != lock.Token() || q.Depth != 1 || q.Waiting != 0 || q.Owner != lock.h.ID ||
		q.Remaining <= 0 || q.Remaining > d.ttl() {
		t.Errorf("the quorum has %+v", q)
	}
	for _, m := range in.Masters {
		if m.Err != nil || m.State != LockHeld || m.Holder != want || m.Grant == 0 || m.Master == "" {
			t.Errorf("%s has %+v", m.Master, m)
		}
	}

	inner := mustTry2(t, holder, lock.Context(), "job")
	waiter := goLock(t, d.client(WithRequestTimeout(d.request())), "job")
	d.inLine("job", 1)
	settled(t, holder)
	if q := mustInspect(t, asker, "job").Quorum; q.Depth != 2 || q.Waiting != 1 {
		t.Errorf("entered again, and one waits: %+v", q)
	}
	must(t, inner.Unlock(background))
	must(t, lock.Unlock(background))
	next := have(t, waiter)
	if q := mustInspect(t, asker, "job").Quorum; q.State != LockHeld || q.Token != next.Token() || q.Owner != next.h.ID {
		t.Errorf("the next one holds: %+v", q)
	}
	must(t, next.Unlock(background))
	requireFree(t, d, "job")
	if q := mustInspect(t, asker, "job").Quorum; q.State != LockFree {
		t.Errorf("free again: %+v", q)
	}
}

func mustTry2(t *testing.T, c *Client, ctx context.Context, name string) *Lock {
	t.Helper()
	lock, err := c.TryLock(ctx, name)
	must(t, err)
	return lock
}

// What a quorum does not say of one owner is said of nobody.
func inspectNamesNobodyWithoutAMajority(t *testing.T, d *deployment) {
	c := d.client(WithRequestTimeout(d.request()))
	must(t, mustTry(t, c, "another").Unlock(background))
	key := script.KeysOf(DefaultPrefix, "job", "").Lock
	for i, value := range []string{"a.1 1 7 ", "a.1 1 7 ", "a.2 1 8 ", "\x1b[2J.3 1 9 ", "no lock at all, but words"} {
		must(t, d.raw[i].Set(background, key, value, time.Minute).Err())
	}
	in := mustInspect(t, c, "job")
	if in.Quorum.State != LockUnknown || in.Quorum.Owner != "" || in.Quorum.Holder != (Holder{}) || in.Quorum.Token != 0 {
		t.Errorf("of a split lock the quorum says %+v", in.Quorum)
	}
	for i, want := range []LockView{
		{State: LockHeld, Owner: "a.1", Holder: Holder{Client: "a"}, Grant: 7, Depth: 1},
		{State: LockHeld, Owner: "a.1", Holder: Holder{Client: "a"}, Grant: 7, Depth: 1},
		{State: LockHeld, Owner: "a.2", Holder: Holder{Client: "a"}, Grant: 8, Depth: 1},
		{State: LockHeld, Owner: `\x1b[2J.3`, Holder: Holder{Client: `\x1b[2J`}, Grant: 9, Depth: 1},
		{State: LockUnknown},
	} {
		got := in.Masters[i].LockView
		if got.Remaining <= 0 || got.Remaining > time.Minute {
			t.Errorf("master %d: %v remain", i, got.Remaining)
		}
		got.Remaining = 0
		if !reflect.DeepEqual(got, want) {
			t.Errorf("master %d: %+v, want %+v", i, got, want)
		}
	}
	must(t, d.raw[3].Del(background, key).Err())
	must(t, d.raw[4].Set(background, key, " redlock:waits:b", time.Minute).Err())
	in = mustInspect(t, c, "job")
	if in.Quorum.State != LockUnknown || in.Masters[3].State != LockFree || in.Masters[4].State != LockKept || in.Masters[4].Holder.Client != "b" {
		t.Errorf("%+v", in)
	}
	must(t, d.raw[2].Set(background, key, "a.1 2 6 8+", time.Minute).Err())
	in = mustInspect(t, c, "job")
	if in.Quorum.State != LockHeld || in.Quorum.Owner != "a.1" || in.Quorum.Token != 0 || in.Quorum.Depth != 1 {
		t.Errorf("a majority has one owner: %+v", in.Quorum)
	}

	d.masters[0].die()
	d.masters[1].die()
	must(t, d.raw[2].Del(background, key).Err())
	must(t, d.raw[3].Del(background, key).Err())
	in, err := c.Inspect(background, "job")
	must(t, err)
	if in.Quorum.State != LockFree || in.Masters[0].Err == nil || in.Masters[0].State != LockUnknown {
		t.Errorf("three say that nobody has it: %+v", in)
	}
	d.masters[2].die()
	in, err = c.Inspect(background, "job")
	requireErr(t, err, ErrNoQuorum)
	if len(in.Masters) != 5 || in.Masters[3].State != LockFree || in.Quorum.State != LockUnknown || errors.Is(err, ErrNotAcquired) {
		t.Errorf("two of five: %+v, %v", in, err)
	}
	in, err = d.client(WithRequestTimeout(d.request())).Inspect(background, "job") // by one who does not know who votes
	requireErr(t, err, ErrNoQuorum)
	if len(in.Masters) != 5 || in.Need != 3 || in.Masters[0].State != LockUnknown || in.Masters[4].State != LockKept || in.Masters[4].Err == nil || in.Quorum.State != LockUnknown {
		t.Errorf("two of five, and nobody knows who votes: %+v, %v", in, err)
	}
}

// A master that lost who a client is gets to know it again within the hour.
func TestAMasterThatForgotAClientIsToldAgain(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.client(WithName("one"))
		lock := mustTry(t, c, "job")
		d.announced(c)
		key := script.ClientKey(DefaultPrefix, c.id)
		time.Sleep(3 * time.Hour)
		d.announced(c)
		if left := d.raw[0].PTTL(background, key).Val(); left < 3*time.Hour-time.Minute || left > 4*time.Hour {
			t.Errorf("known for %v more", left)
		}
		for _, r := range d.raw[:2] {
			must(t, r.Del(background, key).Err())
		}
		if got := mustInspect(t, c, "job").Quorum.Holder; got.Name != "one" {
			t.Errorf("one master knows it, and the holder is %+v", got)
		}
		must(t, d.raw[2].Del(background, key).Err())
		got := mustInspect(t, c, "job").Quorum.Holder
		if got != (Holder{Client: c.id}) || got.String() != "client "+c.id {
			t.Errorf("no master knows it, and the holder is %+v, %v", got, got)
		}
		time.Sleep(time.Hour + time.Minute)
		d.announced(c)
		if got := mustInspect(t, c, "job").Quorum.Holder.String(); !strings.HasPrefix(got, "one, process ") {
			t.Errorf("the holder is %s", got)
		}
		must(t, lock.Unlock(background))
	})
}

// A name that is given while masters are told of the client without one stands.
func TestTheLastNameStands(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		for range 20 {
			c := d.client()
			must(t, mustTry(t, c, "job").Unlock(background)) // has the masters told
			must(t, c.SetName("one"))
			must(t, c.SetName("two"))
			time.Sleep(time.Second) // in the background
			for i, r := range d.raw {
				if is := r.Get(background, script.ClientKey(DefaultPrefix, c.id)).Val(); !strings.Contains(is, `"two"`) {
					t.Errorf("master %d has %s", i, is)
				}
			}
			must(t, c.Close())
		}
	})
}

// Clients that come and go leave nothing for long, and one that cannot be announced locks all the same.
func TestAnnouncingCostsLittle(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.client()
		must(t, mustTry(t, c, "job").Unlock(background))
		d.announced(c)
		must(t, c.Close())
		time.Sleep(announceLife*minAnnounce + time.Second)
		if n := d.knowing(c); n != 0 {
			t.Errorf("%d masters know a client that closed %v ago", n, announceLife*minAnnounce)
		}
	})
	d := processes(t, 3, redisproc.Config{AppendFsync: "always"})
	d.reached()
	for _, r := range d.raw {
		must(t, r.Do(background, "acl", "setuser", "default", "resetkeys", "~redlock:{*", "~redlock:member").Err())
	}
	c := d.client(WithRequestTimeout(d.request()))
	lock := mustTry(t, c, "job")
	must(t, lock.Extend(background, DefaultTTL))
	settled(t, c)
	for _, m := range mustInspect(t, c, "job").Masters {
		if m.Err != nil || m.Holder != (Holder{Client: c.id}) {
			t.Errorf("%+v", m)
		}
	}
	must(t, lock.Unlock(background))
}

// Inspect changes nothing: it works for a user who may not write.
func TestInspectOnlyReads(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{AppendFsync: "always"})
	c := d.reached(WithName("one"))
	lock := mustTry(t, c, "job")
	d.announced(c)
	var urls []string
	for i, r := range d.raw {
		must(t, r.Do(background, "ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@read", "+@connection", "+eval", "+evalsha", "+script", "+info", "+config|get").Err())
		urls = append(urls, "redis://reader:pw@"+d.masters[i].options().Addr)
	}
	reader, err := Open(urls, WithRequestTimeout(d.request()))
	must(t, err)
	defer reader.Close()
	if got := mustInspect(t, reader, "job").Quorum; got.State != LockHeld || got.Holder.Name != "one" || got.Token != lock.Token() {
		t.Errorf("%+v", got)
	}
	must(t, lock.Unlock(background))
}

func TestInspectWithBadInput(t *testing.T) {
	t.Parallel()
	_, err := New(nil, WithName(strings.Repeat("x", maxProgramName+1)))
	requireErr(t, err, ErrBadOption)
	if !strings.Contains(err.Error(), "client's name of 257 bytes") {
		t.Error(err)
	}
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.client()
		_, err := c.Inspect(background, "")
		requireOptionError(t, err, "name")
		over, cancel := context.WithCancel(background)
		cancel()
		_, err = c.Inspect(over, "job")
		requireErr(t, err, context.Canceled)
		must(t, c.Close())
		_, err = c.Inspect(background, "job")
		requireErr(t, err, ErrClosed)
	})
}

func TestOwnersAreTheirClients(t *testing.T) {
	t.Parallel()
	client, seen := newClientID(), map[string]bool{}
	for range 1000 {
		owner := newOwner(client)
		if seen[owner] || clientOf(owner) != client || len(owner) != 2*idLen+1 || strings.ContainsAny(owner, " :{}") {
			t.Fatalf("%q of %q", owner, client)
		}
		seen[owner] = true
	}
	for _, owner := range []string{"", "c", "c.", "c.1", client + ".????", client + "." + client + "A"} {
		if at := sinceOf(owner); !at.IsZero() {
			t.Errorf("%q: %v", owner, at)
		}
	}
	if got := clientOf("0f9c3e1a-8b7c"); got != "0f9c3e1a-8b7c" {
		t.Error(got)
	}
}

func TestAgreed(t *testing.T) {
	t.Parallel()
	out := errors.New("down")
	held := func(owner string, token uint64, left time.Duration) MasterView {
		return MasterView{LockView: LockView{State: LockHeld, Owner: owner, Grant: token, Depth: 1, Remaining: left}}
	}
	free, kept, down := MasterView{LockView: LockView{State: LockFree}}, MasterView{LockView: LockView{State: LockKept}}, MasterView{Err: out, LockView: LockView{State: LockFree}}
	for _, c := range []struct {
		name  string
		views []MasterView
		want  string
	}{
		{"all say the same", []MasterView{held("a", 7, 1), held("a", 7, 2), held("a", 7, 3)}, "held a 7 2ns"},
		{"a majority does", []MasterView{held("a", 7, 1), held("a", 7, 2), free}, "held a 7 1ns"},
		{"its grants differ: the token is not known", []MasterView{held("a", 7, 1), held("a", 8, 2), free}, "held a 0 1ns"},
		{"two owners, and one is down", []MasterView{held("a", 7, 1), held("b", 7, 2), down}, "unknown  0 0s"},
		{"who is out does not count", []MasterView{held("a", 7, 1), free, down}, "unknown  0 0s"},
		{"free, and kept for a waiter, is nobody's", []MasterView{kept, free, held("a", 7, 1)}, "free  0 0s"},
		{"nobody answers", []MasterView{down, down, down}, "unknown  0 0s"},
	} {
		v := agreed(c.views, 2)
		if got := fmt.Sprintf("%s %s %d %v", v.State, v.Owner, v.Token, v.Remaining); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
