package main

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// server is a master that loses its data when it is killed.
type server struct {
	addr    string
	kill    func()
	restart func() error
}

func (s server) url() string { return "redis://" + s.addr }

// flagOf is the argument that names the servers.
func flagOf(servers ...server) string {
	var all []string
	for _, s := range servers {
		all = append(all, s.url())
	}
	return "--masters=" + strings.Join(all, ",")
}

// onBlankMasters runs a test on n masters that belong to no deployment: redis-server processes, or
// embedded masters where there is no redis-server.
func onBlankMasters(t *testing.T, n int, test func(t *testing.T, servers []server)) {
	t.Helper()
	t.Parallel()
	if _, err := exec.LookPath("redis-server"); err == nil || os.Getenv("CI") != "" {
		test(t, blankServers(t, n))
		return
	}
	var servers []server
	for range n {
		s, err := embedded.NewListening("127.0.0.1:0")
		harness.Must(t, err)
		t.Cleanup(s.Close)
		servers = append(servers, server{s.Addr(), func() { s.Kill(true) }, s.Restart})
	}
	test(t, servers)
}

// blankServers are redis-server processes.
func blankServers(t *testing.T, n int) []server {
	t.Helper()
	var servers []server
	for _, s := range blankMasters(t, n) {
		servers = append(servers, server{s.Addr(), s.Kill, s.Restart})
	}
	return servers
}

// initialise founds a deployment with redlock init.
func initialise(t *testing.T, flags ...string) {
	t.Helper()
	redlockEnds(t, append([]string{"init", "--yes"}, flags...)...).wants(t, exitOK)
}

// says fails unless all of the words are in it.
func says(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s says %q, want %q in it", what, text, word)
		}
	}
}

// tokenOf is the token of an acquisition now.
func tokenOf(t *testing.T, flags ...string) fence.Token {
	t.Helper()
	r := redlockEnds(t, append(append([]string{"run", "--name=a"}, flags...), "--", "sh", "-c", "echo $REDLOCK_TOKEN")...)
	r.wants(t, exitOK)
	token, err := fence.Parse(strings.TrimSpace(r.stdout))
	harness.Must(t, err)
	return token
}

// New masters are of no use before init, which does nothing without --yes.
func TestInit(t *testing.T) {
	onBlankMasters(t, 3, func(t *testing.T, servers []server) {
		masters := flagOf(servers...)
		run := redlockEnds(t, "run", masters, "--name=a", "--", "echo", "ran") // and does not wait
		run.wants(t, exitUnavailable)
		says(t, "run", run.stderr, `"a" not obtained: `, "belong to no deployment", "see `redlock help init`")
		early := make(chan result, 1)
		waits := command(t, "run", masters, "--name=early", "--max-ttl=2m", "--wait-for-setup", "--", "echo", "ran")
		go func() { early <- runToEnd(t, waits) }()

		for range 2 {
			plan := redlockEnds(t, "init", masters, "--max-ttl=2m", "--floor=2000000000000000")
			plan.wants(t, exitOK)
			says(t, "the plan", plan.stdout, servers[2].addr+": it belongs to no deployment",
				"a deployment is made of these masters", "2 of 3 members decide", "is 2m0s", "may differ by 1 %", "to 2000000000000000 at least", "Nothing was done.")
		}
		r := redlockEnds(t, "init", masters, "--max-ttl=2m", "--floor=2000000000000000", "--yes")
		r.wants(t, exitOK)
		says(t, "init", r.stdout, "deployment ", ": 3 members, 2 of them decide, and every token to come is above the Unix time in ms and above 2000000000000000\n", "recorded as "+servers[0].addr+", "+servers[1].addr+", "+servers[2].addr+"; clients may reach them by other names\n")
		if r := <-early; r.status != exitOK || r.stdout != "ran\n" {
			t.Errorf("the one that waited for init: status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
		}
		one := redlockEnds(t, "run", flagOf(servers[0]), "--name=a", "--", "echo", "ran") // and does not wait
		one.wants(t, exitUnavailable)
		says(t, "run with one of three masters", one.stderr, "need 2 masters, given 1")
		if token := tokenOf(t, masters, "--max-ttl=2m", "--ttl=100s"); token <= 2_000_000_000_000_000 {
			t.Errorf("token %v is not above the floor", token)
		}

		plan := redlockEnds(t, "init", masters, "--floor=2100000000000000")
		plan.wants(t, exitOK)
		says(t, "the second plan", plan.stdout, servers[0].addr+": it is a voting member of deployment ", "members of one deployment already",
			"to 2100000000000000 at least", "nothing else is changed", "Nothing was done.")
		if token := tokenOf(t, masters); token >= 2_100_000_000_000_000 {
			t.Errorf("token %v: the plan raised the counters", token)
		}
		initialise(t, masters, "--floor=2100000000000000")
		if token := tokenOf(t, masters); token <= 2_100_000_000_000_000 {
			t.Errorf("token %v is not above the second floor", token)
		}
	})
}

// With --json it says the same.
func TestInitJSON(t *testing.T) {
	onBlankMasters(t, 3, func(t *testing.T, servers []server) {
		masters := flagOf(servers...)
		init := func(status int, flags ...string) initJSON {
			t.Helper()
			r := redlockEnds(t, append([]string{"init", masters, "--json"}, flags...)...)
			r.wants(t, status)
			got := decodeAs[initJSON](t, r.stdout)
			if len(got.Masters) != 3 || got.Masters[0].Master != servers[0].addr || (got.Error == "") != (status == exitOK) {
				t.Errorf("%q: %+v", flags, got)
			}
			return got
		}
		plan := init(exitOK, "--floor=2000000000000000")
		if plan.Does != "found" || plan.Done || plan.Deployment != "" || plan.AtLeast != "2000000000000000" || plan.Masters[0].State == "" || plan.Masters[0].Error != "" {
			t.Errorf("%+v", plan)
		}
		if got := init(exitOK, "--yes"); got.Does != "found" || !got.Done || got.Deployment == "" {
			t.Errorf("%+v", got)
		}
		if got := init(exitOK); got.Does != "raise" || got.Done {
			t.Errorf("%+v", got)
		}
		if got := init(exitOK, "--force"); got.Does != "force" || got.Done {
			t.Errorf("%+v", got)
		}
		servers[0].kill()
		for _, flags := range [][]string{nil, {"--yes"}, {"--force"}} {
			if got := init(exitUnavailable, flags...); got.Does != "" || got.Done || got.Masters[0].Error == "" {
				t.Errorf("%q: %+v", flags, got)
			}
		}
	})
}

// A deployment keeps its max ttl: whoever gives another would believe in that.
func TestInitKeepsTheMaxTTL(t *testing.T) {
	t.Parallel()
	masters := flagOf(blankServers(t, 3)...)
	initialise(t, masters, "--max-ttl=10s")
	for _, more := range [][]string{nil, {"--yes"}, {"--json"}, {"--yes", "--json"}} {
		r := redlockEnds(t, append([]string{"init", masters, "--max-ttl=5m"}, more...)...)
		r.wants(t, exitUsage)
		says(t, "init", r.stderr, "redlock: not done: invalid --max-ttl 5m0s: must be left out: the deployment is there, and has 10s")
		if slices.Contains(more, "--json") {
			if got := decodeAs[initJSON](t, r.stdout); got.Done || got.Error == "" {
				t.Errorf("%q: %+v", more, got)
			}
		}
		if strings.Contains(r.stdout, "With --yes") {
			t.Errorf("%q: it promises %q", more, r.stdout)
		}
	}
	initialise(t, masters)
	initialise(t, masters, "--max-ttl=10s")
	initialise(t, masters, "--max-ttl=5m", "--force") // makes another
	if m, err := deploymentOf(t, masters); err != nil || m.MaxTTLMillis != 300_000 {
		t.Errorf("max ttl %d ms, %v", m.MaxTTLMillis, err)
	}
}

// What a master refuses does not get better by waiting for it.
func TestInitThatMastersRefuse(t *testing.T) {
	t.Parallel()
	closed := masterWith(t, redisproc.Config{Conf: map[string]string{"requirepass": "secret"}})
	evicts := masterWith(t, redisproc.Config{Conf: map[string]string{"maxmemory-policy": "allkeys-lru", "maxmemory": "100mb"}})
	for url, says := range map[string]string{
		"redis://" + closed.Addr():    "NOAUTH",
		"redis://:x@" + closed.Addr(): "WRONGPASS",
		"redis://" + evicts.Addr():    "set maxmemory-policy noeviction",
	} {
		for _, more := range [][]string{nil, {"--yes"}} {
			r := redlockEnds(t, append([]string{"init", "--masters=" + url}, more...)...)
			r.wants(t, exitUnavailable)
			if !strings.Contains(r.stderr, says) || !strings.Contains(r.stderr, "redlock: mend what these masters say, and run it again") || strings.Count(r.stderr, "\n") != 2 {
				t.Errorf("%s, %q: %s", url, more, r.stderr)
			}
		}
	}
}

// A majority loses its data: nobody locks until init is forced, and then above all tokens.
func TestForceAfterTheLossOfAMajority(t *testing.T) {
	onBlankMasters(t, 3, func(t *testing.T, servers []server) {
		masters := flagOf(servers...)
		initialise(t, masters)
		before := tokenOf(t, masters)
		for _, s := range servers[:2] {
			s.kill()
			harness.Must(t, s.restart())
		}
		harness.Eventually(t, "run says that a majority lost its data", func() bool {
			r := redlockEnds(t, "run", masters, "--name=a", "--wait=0", "--", "true")
			r.wants(t, exitUnavailable)
			return strings.Contains(r.stderr, "a majority of its members lost its data: see `redlock help init`")
		})
		r := redlockEnds(t, "init", masters, "--yes")
		r.wants(t, exitUnavailable)
		says(t, "init", r.stderr, "redlock: not done: not founded: ", "--force")
		initialise(t, masters, "--force")
		if after := tokenOf(t, masters); after <= before {
			t.Errorf("token %v comes after %v", after, before)
		}
	})
}

// deploymentOf is what redlock members --json tells.
func deploymentOf(t *testing.T, flags ...string) (membershipJSON, error) {
	t.Helper()
	r := redlockEnds(t, append([]string{"members", "--json"}, flags...)...)
	if r.status != exitOK {
		return membershipJSON{}, errors.New(r.stderr)
	}
	return decode(t, r.stdout), nil
}
