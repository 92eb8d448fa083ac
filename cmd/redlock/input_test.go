package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
)

// Bad input is refused before anything is done: status 64, and lines on stderr that name the flag.
func TestBadInput(t *testing.T) {
	t.Parallel()
	const one = "--masters=redis://127.0.0.1:1"
	file := writeFile(t, "", 0o600)
	for _, c := range []struct{ args, text string }{
		{"", "redlock run --masters"},
		{"foo", `unknown command "foo": give run, agent, init, `},
		{"--foo", "unknown flag --foo (see redlock help)"},
		{"help foo", `no help on "foo"`},
		{"help members foo", `no help on members "foo"`},
		{"version x", "an argument too many"},
		{"completion ksh", "<shell>"},

		{"run M true", "--name is missing: it must name the lock"},
		{"run --name=x true", "--masters is missing, and so is REDLOCK_MASTERS"},
		{"run --name=x M --", "command is missing: it must follow the flags"},
		{"run --name=x M --ttl=500ms true", "invalid --ttl 500ms: must be above 500ms"},
		{"run --name=x M --ttl=58s true", "invalid --ttl 58s with --grace 5s: together must be at most --max-ttl, 1m0s"},
		{"run --name=x M --max-ttl=0s true", "invalid --max-ttl 0s"},
		{"run --name=x M --grace=-1s true", "invalid --grace -1s: must not be negative"},
		{"run --name=x M --grace=2562047h true", "so that a ttl of 501ms or more is left of the max ttl (1m0s)"},
		{"run --name=x M --prefix={a} true", `invalid --prefix "{a}"`},
		{"run --name=x M --wait=5 true", "--wait"},
		{"run --name=x M -E 256 true", "invalid --conflict-exit-code 256: must be from 0 to 255"},
		{"run --name=x M --lost-exit-code=0 true", "invalid --lost-exit-code 0: must be from 1 to 255"},
		{"run M --name=" + strings.Repeat("x", limits.MaxNameLen+1) + " true", "invalid --name of 1025 bytes: must be at most 1024"},
		{"run --name=x --masters=redis://a,,redis://b true", "place 2 of --masters is empty"},
		{"run --name=x --masters=redis://127.0.0.1:1,redis://localhost:1 true", "must not be the same server as place 1 of --masters"},
		{"run --name=x --masters=127.0.0.1:6379 true", "invalid place 1 of --masters (not shown, because it may hold a password)"},
		{"run M true --name x", "--name is after COMMAND, which gets it: flags go before COMMAND"},
		{"run --name=x true --masters=redis://a", "--masters is after COMMAND"},
		{"run --name=x --masters=rediss://a?tls_ca=/no/such/file true", "invalid tls_ca of place 1 of --masters /no/such/file: "},

		{"agent M", "--socket is missing"},
		{"agent M --socket a --tcp 127.0.0.1:0", "--socket and --tcp are both given"},
		{"agent M --tcp 127.0.0.1:0", "--token-file is missing"},
		{"agent M --tcp 127.0.0.1", "must be HOST:PORT"},
		{"agent M --socket a --server-key x", "--server-key is given: it needs --tcp"},
		{"agent M --socket a --token-file " + file, "it must have the token"},
		{"agent M --socket a --ttl 2m", "invalid --ttl 2m0s"},
		{"agent M --socket a --drain=-1s", "invalid --drain"},
		{"agent M --socket a --max-locks 0", "invalid --max-locks 0"},

		{"init --yes", "--masters is missing"},
		{"init M --yes --floor=99999999999999999", "floor"},
		{"init M --yes all", "an argument too many"},
		{"init M --yes --max-ttl=500ms", "invalid --max-ttl 500ms"},

		{"members add redis://a", "--masters is missing"},
		{"members M add 127.0.0.1:2", "URL must be the URL of the server"},
		{"members M add redis://a?secret=1", "the URL of the server that joins (not shown"},
		{"members M replace 127.0.0.1:1 127.0.0.1:2", "NEW must be the URL"},
		{"members M suspend me:secret@127.0.0.1:1", "ADDRESS must be an address such as"},
		{"members M me:secret@127.0.0.1:1", "no command of redlock members: give list, add, replace, suspend, resume or remove"},

		{"status M --name=", "--name is missing"},
		{"status nightly", "there is an argument without a flag: give the name of the lock with --name"},
		{"verify M --name=a", "--token is missing"},
		{"verify M --name=a --token=x", "--token"},
		{"unlock M --name=a --yes", "--force is missing"},
		{"unlock M --name=a --force", "--yes is missing: there is no terminal to ask on"},
		{"doctor redis://a", "there is a URL without a flag: give it with --masters"},
	} {
		r := redlockEnds(t, strings.Fields(strings.ReplaceAll(c.args, " M", " "+one))...)
		if r.status != exitUsage || !strings.Contains(r.stderr, c.text) || r.stdout != "" || strings.Contains(r.stderr, "secret") {
			t.Errorf("%q: status %d, stdout %q, stderr %q; want %d and %q", c.args, r.status, r.stdout, r.stderr, exitUsage, c.text)
		}
	}
}

// The command links neither the test harness nor embedded masters nor the demo.
func TestCommandDoesNotLinkHarness(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	cmd.Env = os.Environ()
	out, err := cmd.Output()
	harness.Must(t, err)
	const own = "github.com/redlock-go/redlock/"
	for pkg := range strings.FieldsSeq(string(out)) {
		for _, no := range []string{own + "internal/chaos", own + "internal/embedded", own + "internal/harness", own + "internal/redisproc", own + "redlocktest", own + "cmd/redlock-demo", "github.com/yuin/gopher-lua", "testing"} {
			if pkg == no || strings.HasPrefix(pkg, no+"/") {
				t.Errorf("the command links %s", pkg)
			}
		}
	}
	if !strings.Contains(string(out), own+"admin\n") {
		t.Errorf("go list names %s", out)
	}
}

func TestErrorLines(t *testing.T) {
	t.Parallel()
	a, b := errors.New("redlock: one\n  and more"), errors.New("redlock: two")
	got := lines(errors.Join(a, errors.Join(b)))
	if len(got) != 2 || got[0] != "one; and more" || got[1] != "two" {
		t.Errorf("%q", got)
	}
}

// Control characters in a text from a server do not reach the terminal.
func TestServerTextIsEscaped(t *testing.T) {
	t.Parallel()
	evil := errors.New("ERR \x1b[2J\x1b]0;title\a")
	const want = `ERR \x1b[2J\x1b]0;title\a`
	if got := lines(errors.Join(evil, evil)); len(got) != 2 || got[0] != want || got[1] != want {
		t.Errorf("lines are %q", got)
	}
}
