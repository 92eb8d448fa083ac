package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/proc"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testpki"
)

// The scripts of testdata run redlock as a user does, with the commands below. The expressions for stdout and
// stderr may match a part of a line, or several lines.
func TestScripts(t *testing.T) {
	t.Parallel()
	ca := testpki.New(t)
	cert1, key1 := ca.Issue("agent")
	cert2, key2 := ca.Issue("renewed")
	other := testpki.New(t)
	otherCert, otherKey := other.Issue("stranger")
	agent, err := filepath.Abs("agent")
	harness.Must(t, err)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Values[serversKey{}], e.Values[testKey{}] = new(servers), e.T()
			page, err := os.ReadFile("../../docs/OPERATIONS.md")
			_, filter, _ := strings.Cut(string(page), "redlock members --json | jq -se '")
			filter, _, _ = strings.Cut(filter, "'")
			e.Setenv("MAY_GO_ON", filter) // the page uses this filter to decide whether the next master may be restarted
			for name, value := range map[string]string{
				"AGENT": agent, "DEPLOY": filepath.Join(agent, "../../../deploy"), "CA": ca.File, "CERT1": cert1, "KEY1": key1, "CERT2": cert2, "KEY2": key2,
				"OTHERCA": other.File, "OTHERCERT": otherCert, "OTHERKEY": otherKey,
			} {
				e.Setenv(name, value)
			}
			return err
		},
		Condition: func(name string) (bool, error) { // namespaces: this user may make them with unshare
			return name == "namespaces" && exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "true").Run() == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"masters": startMasters,
			"server":  toServers,
			"ends":    endsWith,
			"until":   until,
			"logs":    logs,
			"keep":    keep,
			"token":   token,
			"grow":    grow,
		},
	})
}

type serversKey struct{}
type testKey struct{}

type servers []*redisproc.Server

func serversOf(ts *testscript.TestScript) *servers { return ts.Value(serversKey{}).(*servers) }

// startMasters is "masters N [NAME=VALUE...]": it starts N more masters with these settings. $A1, $P1 and $U1 are
// the address, the port and the URL of the first master. $M is the flag with all masters. With tls-port=free, $T1
// and $TP1 are the TLS URL and the TLS port of the first master.
func startMasters(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	conf := map[string]string{}
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		conf[name] = value
	}
	if conf["tls-port"] == "free" {
		port, err := proc.FreePort()
		ts.Check(err)
		conf["tls-port"] = fmt.Sprint(port)
		ts.Setenv(fmt.Sprint("TP", len(*serversOf(ts))+1), conf["tls-port"])
		ts.Setenv(fmt.Sprint("T", len(*serversOf(ts))+1), "rediss://127.0.0.1:"+conf["tls-port"])
	}
	started, err := redisproc.StartN(n, redisproc.Config{Conf: conf})
	if errors.Is(err, redisproc.ErrNotInstalled) && os.Getenv("CI") == "" {
		ts.Value(testKey{}).(testscript.T).Skip("NOT TESTED: ", err)
	}
	ts.Check(err)
	all := serversOf(ts)
	for _, s := range started {
		ts.Defer(func() { ts.Check(s.Stop()) })
		*all = append(*all, s)
		ts.Setenv(fmt.Sprint("A", len(*all)), s.Addr())
		ts.Setenv(fmt.Sprint("U", len(*all)), s.URL())
		ts.Setenv(fmt.Sprint("P", len(*all)), fmt.Sprint(s.Port()))
	}
	ts.Setenv("M", mastersFlag(*all))
}

// toServers is "server kill|restart|pause|resume N...".
func toServers(ts *testscript.TestScript, _ bool, args []string) {
	for _, arg := range args[1:] {
		n, err := strconv.Atoi(arg)
		ts.Check(err)
		s := (*serversOf(ts))[n-1]
		switch args[0] {
		case "kill":
			s.Kill()
		case "restart": // without its data
			ts.Check(s.Restart())
		case "pause":
			ts.Check(s.Pause())
		case "resume":
			ts.Check(s.Resume())
		default:
			ts.Fatalf("server %s", args[0])
		}
	}
}

func exitStatus(ts *testscript.TestScript, args []string) int {
	err := ts.Exec(args[0], args[1:]...)
	exit, is := errors.AsType[*exec.ExitError](err)
	if is {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

// endsWith is "ends STATUS COMMAND...".
func endsWith(ts *testscript.TestScript, _ bool, args []string) {
	if got := exitStatus(ts, args[1:]); fmt.Sprint(got) != args[0] {
		ts.Fatalf("status %d, want %s", got, args[0])
	}
}

// until is "until STATUS EXPRESSION COMMAND...": it repeats COMMAND until its status and its output match.
func until(ts *testscript.TestScript, _ bool, args []string) {
	wanted := regexp.MustCompile("(?ms)" + args[1])
	eventually(ts, args[1], func() bool {
		status := exitStatus(ts, args[2:])
		return fmt.Sprint(status) == args[0] && wanted.MatchString(ts.ReadFile("stdout")+ts.ReadFile("stderr"))
	})
}

func eventually(ts *testscript.TestScript, what string, done func() bool) {
	for begun := time.Now(); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > deadline {
			ts.Fatalf("not in time: %s", what)
		}
	}
}

// logs is "logs FILE EXPRESSION": it waits until the text of FILE matches.
func logs(ts *testscript.TestScript, _ bool, args []string) {
	wanted := regexp.MustCompile("(?m)" + args[1])
	eventually(ts, args[1], func() bool {
		text, _ := os.ReadFile(ts.MkAbs(args[0]))
		return wanted.Match(text)
	})
}

// keep is "keep NAME FILE EXPRESSION": it sets $NAME to what the first group matches.
func keep(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile("(?m)" + args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if found == nil {
		ts.Fatalf("no %s in %s", args[2], args[1])
	}
	ts.Setenv(args[0], found[1])
}

// token is "token NAME FLAGS...": it acquires a lock, and sets $NAME to the token.
func token(ts *testscript.TestScript, neg bool, args []string) {
	endsWith(ts, neg, append(append([]string{"0", "redlock", "run", "--name=token"}, args[1:]...), "--", "printenv", tokenVariable))
	keep(ts, neg, []string{args[0], "stdout", `^(\d+)$`})
}

// grow is "grow TOKEN TOKEN...": it fails unless each token is above the one before.
func grow(ts *testscript.TestScript, _ bool, args []string) {
	var last fence.Token
	for _, arg := range args {
		token, err := fence.Parse(arg)
		ts.Check(err)
		if token <= last {
			ts.Fatalf("%v comes after %v", token, last)
		}
		last = token
	}
}
