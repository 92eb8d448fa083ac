package leader_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testmasters"
	"github.com/redlock-go/redlock/leader"
)

// candidateEnv makes the test binary be a candidate, in a process of its own that can be killed and
// stopped.
const candidateEnv = "REDLOCK_TEST_CANDIDATE_URLS"

// beCandidate says when it leads and when it does not any more, and resigns at each line on its
// standard input.
func beCandidate(urls string) {
	client, err := redlock.Open(strings.Split(urls, ","), redlock.WithTTL(3*time.Second), redlock.WithRequestTimeout(time.Second))
	if err != nil {
		panic(err)
	}
	elector, err := leader.New(client, "role", leader.WithPause(time.Hour), leader.WithCallbacks(leader.Callbacks{
		SteppedDown: func(_ fence.Token, cause error) { fmt.Println("down:", cause) },
	}))
	if err != nil {
		panic(err)
	}
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println("resign:", elector.Resign(context.Background()))
		}
		os.Exit(0)
	}()
	fmt.Println(elector.Run(context.Background(), func(ctx context.Context, token fence.Token) error {
		fmt.Println("token", token)
		<-ctx.Done()
		return nil
	}))
}

// process is a candidate in a process of its own.
type process struct {
	*exec.Cmd
	say  func()
	said chan string
}

func newProcess(t *testing.T, urls []string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0]), said: make(chan string, 100)}
	p.Env = append(os.Environ(), candidateEnv+"="+strings.Join(urls, ","))
	p.Stderr = os.Stderr
	in, err := p.StdinPipe()
	harness.Must(t, err)
	out, err := p.StdoutPipe()
	harness.Must(t, err)
	harness.Must(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	p.say = func() {
		_, err := fmt.Fprintln(in)
		harness.Must(t, err)
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.said <- lines.Text()
		}
	}()
	return p
}

// line waits for what it says next.
func (p *process) line(t *testing.T) string {
	t.Helper()
	select {
	case line := <-p.said:
		return line
	case <-time.After(time.Minute):
		t.Fatal("the candidate says nothing")
		return ""
	}
}

// token waits until it leads.
func (p *process) token(t *testing.T) (token fence.Token) {
	t.Helper()
	line := p.line(t)
	if _, err := fmt.Sscanf(line, "token %d", &token); err != nil {
		t.Fatalf("it says %q", line)
	}
	return token
}

// A leader that resigns, is stopped, or is killed is followed by the next, with a higher token.
func TestLeadersThatGo(t *testing.T) {
	t.Parallel()
	d := testmasters.Processes(t, 3)
	resigns := newProcess(t, d.URLs())
	first := resigns.token(t)
	stopped := newProcess(t, d.URLs())

	resigns.say()
	second := stopped.token(t)
	for _, want := range []string{"down: leader: resigned", "resign: <nil>"} {
		if got := resigns.line(t); got != want {
			t.Errorf("who resigned says %q, want %q", got, want)
		}
	}

	killed := newProcess(t, d.URLs())
	harness.Must(t, redisproc.Freeze(stopped.Process))
	third := killed.token(t)
	harness.Must(t, redisproc.Thaw(stopped.Process))
	if got := stopped.line(t); got != "down: redlock: lease expired" && got != "down: redlock: lock lost" {
		t.Errorf("who was stopped says %q", got)
	}
	harness.Must(t, killed.Process.Kill())
	fourth := stopped.token(t) // it campaigned at once
	if first >= second || second >= third || third >= fourth {
		t.Errorf("tokens %v, %v, %v, %v", first, second, third, fourth)
	}
	asker := d.Client()
	within(t, time.Minute, "the leader is known", func() bool {
		l, err := leader.Of(background, asker, "role")
		return err == nil && l.PID == stopped.Process.Pid && l.Token == fourth
	})
}
