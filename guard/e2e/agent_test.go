package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/testmasters"
	"github.com/redlock-go/redlock/internal/testskip"
)

// Programs in Python lock by two agents, and write to a guarded store, while agents are killed,
// stopped and started again, programs are killed, stopped and fork, and requests and answers are
// lost. The store never takes an older token, and no two programs believe in the lock at a time:
// neither a program that was stopped, nor one whose agent was, nor a program and the child of
// another. The lock always goes on.
func TestAgentInChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED in short mode: an agent and its programs in chaos")
	}
	t.Parallel()
	c := newAgentChaos(t)
	near, far := c.agent(), c.agent()
	for _, one := range []*agentProcess{near, near, far, far} {
		c.program(one, 20, "stubborn")
	}
	for _, fault := range []struct {
		name   string
		happen func(holder *program)
	}{
		{"the holder's agent is killed, and starts again", func(holder *program) {
			holder.agent.kill()
			holder.agent.start()
		}},
		{"the holder's agent is stopped for longer than a lease", func(holder *program) {
			holder.agent.signal(syscall.SIGSTOP)
			time.Sleep(agentStop)
			holder.agent.signal(syscall.SIGCONT)
		}},
		{"the holder is stopped", func(holder *program) {
			c.stopBeforeItWrites(holder)
		}},
		{"the holder is killed", func(holder *program) {
			holder.kill()
			c.program(holder.agent, 20, "stubborn")
		}},
		{"the holder forks", func(holder *program) {
			from, tried := c.soFar(), 0
			_ = holder.cmd.Process.Signal(syscall.SIGUSR1)
			c.awaitFrom(from, "both children have tried", func(e said) bool {
				if strings.Contains(e.What, "in a child") {
					tried++
					if !strings.HasSuffix(e.What, ": Closed") {
						t.Errorf("a child was not refused: %+v", e)
					}
				}
				return tried == 2
			})
		}},
		{"the holder's unlock is lost", func(holder *program) {
			holder.agent.loses("DELETE", false)
		}},
		{"the answer to a lock is lost", func(holder *program) {
			holder.agent.loses("PUT", true)
		}},
	} {
		t.Log(fault.name)
		fault.happen(c.holder())
		c.goesOn()
	}
	c.stop()
	c.judge()
	if n := c.count("stale"); n == 0 {
		t.Error("no write was refused: nothing was provoked")
	}
	if n := c.count("lost"); n == 0 {
		t.Error("no program was told that it lost the lock")
	}
	t.Logf("%d locks, %d writes, %d stale writes refused, %d locks lost", c.count("held"), c.count("wrote"), c.count("stale"), c.count("lost"))
}

// A program whose agent is gone stops before anybody else holds the lock, though what it does
// blocks: in each way to stop that the client has.
func TestAgentEndsWorkInTime(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name   string
		way    string
		signal syscall.Signal
	}{
		{"killed", "timeout", syscall.SIGKILL},
		{"stopped", "interrupt", syscall.SIGSTOP},
		{"stopped, with a task", "async", syscall.SIGSTOP},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			c := newAgentChaos(t)
			c.blocks = make(chan struct{})
			t.Cleanup(sync.OnceFunc(func() { close(c.blocks) }))
			near, far := c.agent(), c.agent()
			first := c.program(near, 1, fault.way)
			c.await("the first holds", func(e said) bool { return e.What == "valid" })
			c.program(far, 1, fault.way)
			near.signal(fault.signal)
			lost := c.await("the first is told", func(e said) bool { return e.What == "lost" && e.program == first })
			next := c.await("the second holds", func(e said) bool { return e.What == "held" && e.program != first })
			if lost.At >= next.At || lost.Late > 1 {
				t.Errorf("it ended %v s after its time, and %v before the next holder", lost.Late, time.Duration(next.At-lost.At))
			}
			c.stop()
		})
	}
}

const (
	agentTTL  = 3 * time.Second // of locks
	agentStop = agentTTL + time.Second
)

// agentChaos is agents, their programs, and what these say.
type agentChaos struct {
	t       *testing.T
	masters []string
	binary  string
	store   string        // URL
	blocks  chan struct{} // not nil: a write lasts until it is closed

	mu       sync.Mutex
	said     []said
	more     chan struct{} // closed when there is more
	programs []*program
	tokens   []fence.Token // of the writes that the store took
}

// said is one line of a program.
type said struct {
	What  string
	Token int64
	At    int64
	Late  float64 // seconds between the end of the lock and that of the work
	Why   string

	program *program
}

// redlockFolder has the command, and is removed at the end of TestMain.
var redlockFolder string

// redlockBinary builds the command, once.
var redlockBinary = sync.OnceValues(func() (_ string, err error) {
	if redlockFolder, err = os.MkdirTemp("", "redlock"); err != nil {
		return "", err
	}
	binary := filepath.Join(redlockFolder, "redlock")
	if out, err := exec.Command("go", "build", "-C", "../../cmd/redlock", "-o", binary, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
})

func newAgentChaos(t *testing.T) *agentChaos {
	t.Helper()
	_, err := exec.LookPath("python3")
	testskip.IfLacking(t, err, exec.ErrNotFound)
	must(t, err)
	c := &agentChaos{t: t, masters: testmasters.Processes(t, 3).URLs(), more: make(chan struct{})}
	c.binary, err = redlockBinary()
	must(t, err)
	var memory fence.Memory
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.blocks != nil {
			select {
			case <-c.blocks:
			case <-r.Context().Done():
			}
			return
		}
		token, err := fence.Parse(r.FormValue("token"))
		if err == nil {
			err = memory.Do(r.Context(), "account", token, func() error {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.tokens = append(c.tokens, token)
				return nil
			})
		}
		switch {
		case errors.Is(err, fence.ErrStale):
			w.WriteHeader(http.StatusConflict)
		case err != nil:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	c.store = server.URL
	t.Cleanup(c.stop)
	return c
}

// agentProcess is a redlock agent, and a proxy before it, which can lose a request or an answer.
type agentProcess struct {
	t       *testing.T
	chaos   *agentChaos
	socket  string // its own
	way     string // that of its programs
	process *exec.Cmd

	mu   sync.Mutex
	loss *loss // nil: nothing is to be lost
}

// loss is a request that gets lost, or its answer.
type loss struct {
	method string
	answer bool
	done   chan struct{} // closed when it was lost
}

// loses makes the next request of that method get lost on its way, or its answer, and waits for
// that.
func (a *agentProcess) loses(method string, answer bool) {
	a.t.Helper()
	l := &loss{method, answer, make(chan struct{})}
	a.mu.Lock()
	a.loss = l
	a.mu.Unlock()
	select {
	case <-l.done:
	case <-time.After(time.Minute):
		a.t.Fatalf("no %s within a minute", method)
	}
}

// lossOf returns what is to be lost of this request, if anything.
func (a *agentProcess) lossOf(r *http.Request) *loss {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l := a.loss; l != nil && l.method == r.Method {
		a.loss = nil
		return l
	}
	return nil
}

// agent starts one, with a way to it.
func (c *agentChaos) agent() *agentProcess {
	c.t.Helper()
	dir, err := os.MkdirTemp("", "agent") // short: the path of a socket may have 107 bytes
	must(c.t, err)
	a := &agentProcess{t: c.t, chaos: c, socket: filepath.Join(dir, "a"), way: filepath.Join(dir, "w")}
	l, err := net.Listen("unix", a.way)
	must(c.t, err)
	server := &http.Server{Handler: a.carry()}
	go func() { _ = server.Serve(l) }()
	a.start()
	c.t.Cleanup(func() {
		a.kill()
		_ = server.Close()
		_ = os.RemoveAll(dir)
	})
	return a
}

func (a *agentProcess) start() {
	a.t.Helper()
	var out bytes.Buffer
	a.process = exec.Command(a.chaos.binary, "agent", "--masters", strings.Join(a.chaos.masters, ","), "--socket", a.socket, "--ttl", agentTTL.String())
	a.process.Stderr = &out
	must(a.t, a.process.Start())
	for range 1000 {
		conn, err := net.Dial("unix", a.socket)
		if err == nil {
			_ = conn.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	a.t.Fatalf("the agent does not answer: %s", out.String())
}

func (a *agentProcess) signal(s syscall.Signal) { _ = a.process.Process.Signal(s) }

func (a *agentProcess) kill() {
	a.signal(syscall.SIGKILL)
	_ = a.process.Wait()
}

// carry passes requests on to the agent, and answers back.
func (a *agentProcess) carry() http.Handler {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", a.socket)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "agent"
		},
		Transport:    &http.Transport{DialContext: dial, DisableKeepAlives: true},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // as a broken connection
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lost := a.lossOf(r)
		switch {
		case lost == nil:
			proxy.ServeHTTP(w, r)
			return
		case lost.answer:
			proxy.ServeHTTP(httptest.NewRecorder(), r)
		}
		close(lost.done)
		panic(http.ErrAbortHandler)
	})
}

// program is a process of worker.py.
type program struct {
	agent *agentProcess
	cmd   *exec.Cmd
	ended chan struct{}
}

func (c *agentChaos) program(a *agentProcess, longest int, way string) *program {
	c.t.Helper()
	p := &program{agent: a, ended: make(chan struct{})}
	p.cmd = exec.Command("python3", "testdata/worker.py", a.way, c.store, fmt.Sprint(longest), way)
	p.cmd.Env = append(os.Environ(), "PYTHONPATH=../../cmd/redlock/agent/clients", "PYTHONDONTWRITEBYTECODE=1")
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	must(c.t, err)
	must(c.t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			e := said{program: p}
			if json.Unmarshal(lines.Bytes(), &e) != nil {
				continue // it was killed in the middle of a line
			}
			c.mu.Lock()
			c.said = append(c.said, e)
			close(c.more)
			c.more = make(chan struct{})
			c.mu.Unlock()
		}
		_ = p.cmd.Wait()
	}()
	c.programs = append(c.programs, p)
	return p
}

func (p *program) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.ended
}

// stop ends the programs.
func (c *agentChaos) stop() {
	for _, p := range c.programs {
		p.kill()
	}
	c.programs = nil
}

// await waits for something that a program says from now on.
func (c *agentChaos) await(what string, is func(said) bool) said {
	c.t.Helper()
	return c.awaitFrom(c.soFar(), what, is)
}

// soFar returns how much was said by now.
func (c *agentChaos) soFar() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.said)
}

func (c *agentChaos) awaitFrom(from int, what string, is func(said) bool) said {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	for {
		c.mu.Lock()
		more, all := c.more, c.said
		c.mu.Unlock()
		for ; from < len(all); from++ {
			if is(all[from]) {
				return all[from]
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			c.t.Fatalf("not within a minute: %s; the last of %d: %+v", what, len(all), all[max(0, len(all)-5):])
		}
	}
}

// holder is a program that holds the lock, and goes on.
func (c *agentChaos) holder() *program {
	c.t.Helper()
	return c.await("a program holds the lock", func(e said) bool { return e.What == "wrote" }).program
}

// goesOn waits until several programs have written.
func (c *agentChaos) goesOn() {
	c.t.Helper()
	writers := map[*program]bool{}
	c.await("two programs write", func(e said) bool {
		if e.What == "wrote" {
			writers[e.program] = true
		}
		return len(writers) == 2
	})
}

// stopBeforeItWrites stops a program after it looked at its lock, until another has written.
func (c *agentChaos) stopBeforeItWrites(p *program) {
	c.t.Helper()
	for range 20 {
		c.await("it has looked at its lock", func(e said) bool { return e.What == "valid" && e.program == p })
		_ = p.cmd.Process.Signal(syscall.SIGSTOP)
		c.await("another writes", func(e said) bool { return e.What == "wrote" && e.program != p })
		from := c.soFar()
		_ = p.cmd.Process.Signal(syscall.SIGCONT)
		// It writes at once, or has ended its block.
		if c.awaitFrom(from, "it goes on", func(e said) bool { return e.program == p }).What == "stale" {
			return
		}
	}
}

func (c *agentChaos) count(what string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.said {
		if e.What == what {
			n++
		}
	}
	return n
}

// judge compares what the programs believed and what the table took with what was promised.
func (c *agentChaos) judge() {
	c.t.Helper()
	c.mu.Lock()
	tokens := slices.Clone(c.tokens)
	c.mu.Unlock()
	if !slices.IsSorted(tokens) {
		c.t.Errorf("the store took an older token after a newer one: %v", tokens)
	}
	if len(tokens) < c.count("wrote") {
		c.t.Errorf("%d writes were acknowledged, and %d are there", c.count("wrote"), len(tokens))
	}
	type claim struct {
		token, from, to int64
		program         *program
	}
	claims := map[int64]*claim{}
	for _, e := range c.said {
		switch was := claims[e.Token]; {
		case e.What == "held" && was != nil:
			c.t.Errorf("two programs have the token %d", e.Token)
		case e.What == "held":
			claims[e.Token] = &claim{e.Token, e.At, e.At, e.program}
		case e.What == "valid" && was != nil:
			was.to = max(was.to, e.At)
		}
	}
	var all []*claim
	for _, one := range claims {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *claim) int { return cmp.Compare(a.token, b.token) })
	for i := 1; i < len(all); i++ {
		if before := all[i-1]; all[i].from <= before.to {
			c.t.Errorf("the holder of %d believed in the lock for %v after that of %d had it", before.token, time.Duration(before.to-all[i].from), all[i].token)
		}
	}
}
