package harness

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// Holders returns a character for each master: 1 if name is locked there, 0 if it is not, ? if the master fails.
func (d *Deployment) Holders(name string) string {
	var b strings.Builder
	for _, r := range d.Raw {
		n, err := r.Exists(context.Background(), script.KeysOf(limits.DefaultPrefix, name, "").Lock).Result()
		switch {
		case err != nil:
			b.WriteByte('?')
		default:
			fmt.Fprint(&b, n)
		}
	}
	return b.String()
}

// Drop waits until c has the votes of all masters, and deletes c's lock on the given masters.
func (d *Deployment) Drop(c *redlock.Client, name string, masters ...int) {
	d.T.Helper()
	Settled(d.T, c)
	if got := d.Holders(name); strings.Contains(got, "0") {
		d.T.Fatalf("held on %s", got)
	}
	for _, i := range masters {
		Must(d.T, d.Raw[i].Del(context.Background(), script.KeysOf(limits.DefaultPrefix, name, "").Lock).Err())
	}
}

// RequireHolders waits until Holders returns want for each name.
func RequireHolders(t *testing.T, d *Deployment, want string, names ...string) {
	t.Helper()
	for _, name := range names {
		Eventually(t, name+" is held on "+want, func() bool { return d.Holders(name) == want })
	}
}

// GivenBack waits until Holders returns want for name. It fails the test if that takes longer than the given time. Give
// less time than a ttl: after a ttl, even grants that were not given back are gone.
func GivenBack(t *testing.T, d *Deployment, name, want string, within time.Duration) {
	t.Helper()
	start := time.Now()
	Eventually(t, name+" is locked on "+want, func() bool { return d.Holders(name) == want })
	if took := time.Since(start); took > within {
		t.Errorf("so after %v only: the ttl did it, not the release", took)
	}
}

// StoredLock is an owned lock on a master; see scripts/lock.lua.
type StoredLock struct{ Owner, Grant, Token, Waited string }

func (l StoredLock) String() string {
	return fmt.Sprintf("%s %s %s%s", l.Owner, l.Grant, l.Token, l.Waited)
}

// LockOn reads the lock from a master; it returns the zero StoredLock if nobody owns it there.
func LockOn(t *testing.T, r *redis.Client, name string) StoredLock {
	t.Helper()
	value, err := r.Get(context.Background(), script.KeysOf(limits.DefaultPrefix, name, "").Lock).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	parts := regexp.MustCompile(`^(\S+) (\d+) (\d*)(\+?)$`).FindStringSubmatch(value)
	if parts == nil {
		return StoredLock{}
	}
	return StoredLock{parts[1], parts[2], parts[3], parts[4]}
}

// InLine waits until n clients are in the queue on each master of a quorum. (On masters where the holder lacks the
// lock, clients need not queue.) If n is 0, it waits for empty queues on all masters.
func (d *Deployment) InLine(name string, n int64) {
	d.T.Helper()
	line := script.KeysOf(limits.DefaultPrefix, name, "").Queue
	defer func() {
		for i, r := range d.Raw {
			if d.T.Failed() {
				d.T.Logf("in line on master %d: %v", i, r.ZRangeWithScores(context.Background(), line, 0, -1))
			}
		}
	}()
	Eventually(d.T, fmt.Sprintf("%d in line", n), func() bool {
		so := 0
		for _, r := range d.Raw {
			if got, err := r.ZCard(context.Background(), line).Result(); err == nil && got == n {
				so++
			}
		}
		return so == len(d.Raw) || n > 0 && so >= testvotes.MajorityOf(len(d.Raw))
	})
}

// TicketOf waits until c is in the queues of a quorum of masters, and returns c's ticket. Without a ticket, each master
// would order c by the master's own time.
func (d *Deployment) TicketOf(c *redlock.Client, name string) float64 {
	d.T.Helper()
	var ticket float64
	Eventually(d.T, "it is in the queue with its ticket", func() bool {
		masters := map[float64]int{}
		for _, r := range d.Raw {
			score, err := r.ZScore(context.Background(), script.KeysOf(limits.DefaultPrefix, name, "").Queue, Channel(c)).Result()
			if err != nil {
				continue
			}
			if masters[score]++; masters[score] >= testvotes.MajorityOf(len(d.Raw)) {
				ticket = score
				return true
			}
		}
		return false
	})
	return ticket
}

// Knowing returns how many masters have the identity of c.
func (d *Deployment) Knowing(c *redlock.Client) (n int) {
	for _, r := range d.Raw {
		if r.Exists(context.Background(), script.ClientKey(limits.DefaultPrefix, ID(c))).Val() == 1 {
			n++
		}
	}
	return n
}

// Register returns a master's part of the register of members.
func (d *Deployment) Register(i int) map[string]string {
	fields, err := d.Raw[i].HGetAll(context.Background(), script.RegisterKey(limits.DefaultPrefix)).Result()
	if err != nil { // the connection was from before a restart
		fields, err = d.Raw[i].HGetAll(context.Background(), script.RegisterKey(limits.DefaultPrefix)).Result()
	}
	Must(d.T, err)
	return fields
}
