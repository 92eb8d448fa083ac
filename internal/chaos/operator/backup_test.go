package operator_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/operator"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// site is a deployment of three masters, with a spare.
type site struct {
	*operator.Operator
	t *testing.T
}

func newSite(t *testing.T) *site {
	c, err := cluster.Start(t.Context(), cluster.Config{Engine: cluster.Process, N: 4, Log: t.Output()})
	testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
	check(t, err)
	t.Cleanup(func() { check(t, c.Close()) })
	s := &site{&operator.Operator{Masters: c.Masters(), Founders: 3, MaxTTL: time.Second, Open: open, Log: t.Output()}, t}
	check(t, s.Found(t.Context()))
	return s
}

func open(masters []cluster.Master) (*redlock.Client, error) {
	var urls []string
	for _, m := range masters {
		urls = append(urls, "redis://"+m.Addr())
	}
	return redlock.Open(urls, redlock.WithMaxTTL(time.Second))
}

// lock locks the same name so many times on two of the masters, and returns the last token.
func (s *site) lock(times, one, other int) (last fence.Token) {
	s.t.Helper()
	client, err := open([]cluster.Master{s.Masters[one], s.Masters[other]})
	check(s.t, err)
	defer func() { check(s.t, client.Close()) }()
	for range times {
		lock, err := client.Lock(s.t.Context(), "a", redlock.WithWait(20*time.Second))
		check(s.t, err)
		last = lock.Token()
		check(s.t, lock.Unlock(s.t.Context()))
	}
	return last
}

// awaitVotes waits, as a client that runs does, until m0 votes.
func (s *site) awaitVotes() {
	s.t.Helper()
	client, err := open(s.Masters[:3])
	check(s.t, err)
	defer func() { check(s.t, client.Close()) }()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		is, err := admin.Members(s.t.Context(), client)
		if err != nil {
			continue
		}
		for _, m := range is.Members {
			if m.Address == s.Masters[0].Addr() && m.State == admin.MemberVoting && m.Err == nil {
				return
			}
		}
	}
	s.t.Fatal("m0 does not come to vote")
}

// A backup of m0 is put back, and it has a quorum with m2, which was not reached since the backup
// was made. As it is, it repeats a token, and nobody notices, though m0 was suspended meanwhile. In
// the two ways that PROTOCOL.md tells, tokens grow.
func TestABackupIsPutBack(t *testing.T) {
	t.Parallel()
	restore := func(s *site) {
		check(s.t, s.Masters[0].Kill())
		check(s.t, s.Masters[0].Restore())
		check(s.t, s.Masters[0].Start())
	}
	for name, way := range map[string]struct {
		restore func(*site)
		grows   bool
	}{
		"as it is": {restore, false},
		"suspended": {func(s *site) {
			check(s.t, s.Suspend(s.t.Context(), s.Masters[0].Addr()))
			restore(s)
			check(s.t, s.Resume(s.t.Context(), s.Masters[0].Addr()))
		}, false},
		"emptied": {func(s *site) {
			restore(s)
			_, err := s.Masters[0].Do(context.Background(), "flushall")
			check(s.t, err)
			s.awaitVotes()
		}, true},
		"replaced": {func(s *site) {
			m, spare := s.Masters[0].Addr(), s.Masters[3].Addr()
			check(s.t, s.Replace(s.t.Context(), m, spare))
			restore(s)
			check(s.t, s.Replace(s.t.Context(), spare, m))
			s.awaitVotes()
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.lock(1, 0, 2)
			check(t, s.Masters[0].Backup())
			before := s.lock(5, 0, 1)
			way.restore(s)
			after := s.lock(1, 0, 2)
			if grows := after > before; grows != way.grows {
				t.Errorf("token %d after %d: grows %t, want %t", after, before, grows, way.grows)
			}
		})
	}
}
