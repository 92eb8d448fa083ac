package main

import (
	"strings"
	"testing"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
)

func parsed(t *testing.T, token string) fence.Token {
	t.Helper()
	n, err := fence.Parse(token)
	harness.Must(t, err)
	return n
}

// The old holder stops, the one that waits goes on, and the printed token is between theirs.
func TestUnlock(t *testing.T) {
	onBlankMasters(t, 3, func(t *testing.T, servers []server) {
		masters := flagOf(servers...)
		initialise(t, masters)
		old, first, _ := holderOf(t, "nightly", masters, "--ttl=6s", "--grace=0s")
		waiter := start(t, command(t, "run", masters, "--name=nightly", "--", "sh", "-c", "echo token $REDLOCK_TOKEN"))
		lockOf(t, masters, "nightly", "one waits", func(l lockJSON) bool { return l.Waiting == 1 })
		r := redlockEnds(t, "unlock", masters, "--force", "--yes", "--name=nightly")
		r.wants(t, exitOK)
		says(t, "unlock", r.stdout, "\"nightly\": held\n", first, "\"nightly\" is taken from whoever is shown above. Its fencing token is ", "Give this token to every store")
		_, after, _ := strings.Cut(r.stdout, "Its fencing token is ")
		forced, _, _ := strings.Cut(after, " now")
		second := waiter.line("token")
		if a, b, c := parsed(t, first), parsed(t, forced), parsed(t, second); !(a < b && b < c) {
			t.Errorf("tokens %v, %v and %v do not grow", a, b, c)
		}
		if status := waiter.status(); status != 0 {
			t.Errorf("the next one: status %d", status)
		}
		says(t, "the old holder", old.line("redlock: "), `"nightly" (token `+first+`) was lost while the command ran`)
		if status := old.status(); status != exitLost {
			t.Errorf("the old holder: status %d, want %d", status, exitLost)
		}

		r = redlockEnds(t, "unlock", masters, "--force", "--yes", "--name=nightly", "--json")
		r.wants(t, exitOK)
		got := decodeAs[unlockJSON](t, r.stdout)
		if got.Lock.State != "free" || got.Lock.Name != "nightly" || got.Error != "" || parsed(t, got.Token) <= parsed(t, second) {
			t.Errorf("of a name that nobody has: %+v", got)
		}
		says(t, "with --json, stderr", r.stderr, "\"nightly\": free\n")

		servers[0].kill()
		servers[1].kill()
		r = redlockEnds(t, "unlock", masters, "--force", "--yes", "--name=nightly", "--json")
		r.wants(t, exitUnavailable)
		if got := decodeAs[unlockJSON](t, r.stdout); got.Token != "" || got.Error == "" || len(got.Lock.Masters) != 3 || got.Lock.Masters[2].State != "free" {
			t.Errorf("without a quorum: %+v", got)
		}
		says(t, "without a quorum, stderr", r.stderr, "redlock: nothing was done: no quorum of masters")
	})
}
