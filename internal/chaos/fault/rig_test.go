package fault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rig is a real cluster with two simulated clients.
type rig struct {
	*Env
	mu     sync.Mutex
	events []string
	calls  []string
	hangs  int   // how many of the next operators hang while they take a lock
	failed error // the errors of faults that are over
}

// done fails the test if a fault returned an error. It skips the test if the machine does not support the fault.
func done(t *testing.T, err error) {
	t.Helper()
	testskip.IfLacking(t, err, cluster.ErrNoClock)
	check(t, err)
}

// eachEngine runs the test on both engines. With -short, it uses processes only. If an engine is missing, the test on
// this engine is skipped, or fails in CI.
func eachEngine(t *testing.T, masters int, test func(t *testing.T, r *rig)) {
	for _, e := range []cluster.Engine{cluster.Process, cluster.Docker} {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			if testing.Short() && e == cluster.Docker {
				t.Skip("NOT RUN with -short: the same on containers")
			}
			c, err := cluster.Start(t.Context(), cluster.Config{
				Engine: e, N: masters, Clients: []string{"c0", "c1"}, Log: t.Output(),
			})
			testskip.IfLacking(t, err, cluster.ErrNoDocker, redisproc.ErrNotInstalled)
			check(t, err)
			t.Cleanup(func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
			r := &rig{}
			r.Env = &Env{World: c, Processes: r, Operator: r, Patience: 10 * time.Second, Names: []string{"n", "o"}, Register: "register", Emit: r.emit}
			test(t, r)
		})
	}
}

func (r *rig) emit(e history.Event) {
	text := fmt.Sprint(e.Kind, " ", e.Fault, e.Master, e.Client)
	if e.Offset != 0 {
		text += " " + e.Offset.String()
	}
	if e.Lost {
		text += " lost"
	}
	if e.Err != "" {
		text += " (" + e.Err + ")"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, text)
}

func (r *rig) call(name, client string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, name+" "+client)
	return nil
}

func (r *rig) Stop(client string) error     { return r.call("stop", client) }
func (r *rig) Continue(client string) error { return r.call("continue", client) }
func (r *rig) Kill(client string) error     { return r.call("kill", client) }
func (r *rig) Restart(client string) error  { return r.call("restart", client) }

// The rig is an operator too.

func (r *rig) Change(_ context.Context, change admin.MemberChange) error {
	return r.call("change", r.named(fmt.Sprint(change)))
}
func (r *rig) Remove(_ context.Context, member string) error {
	return r.call("remove", r.named(member))
}

func (r *rig) Init(_ context.Context, masters ...string) error {
	return r.call("init", r.named(strings.Join(masters, " ")))
}

func (r *rig) ForceUnlock(ctx context.Context, name string, emit func(history.Event)) error {
	emit(history.Event{Kind: history.ForceBegins})
	defer emit(history.Event{Kind: history.ForceEnds})
	r.mu.Lock()
	hangs := r.hangs > 0
	r.hangs--
	r.mu.Unlock()
	if hangs {
		<-ctx.Done()
	}
	return r.call("force", name)
}

// named replaces the masters' addresses by their names.
func (r *rig) named(text string) string {
	for _, m := range r.World.Masters() {
		text = strings.ReplaceAll(text, m.Addr(), m.Name())
	}
	return text
}

func (r *rig) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events, r.calls, r.failed = nil, nil, nil
}

func (r *rig) seen() (events, calls string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.events, ", "), strings.Join(r.calls, ", ")
}

// begin applies the fault in a goroutine. The returned function waits until the fault is healed.
func (r *rig) begin(ctx context.Context, t *testing.T, text string) (end func() error) {
	t.Helper()
	f, err := Parse(text)
	check(t, err)
	done := make(chan error, 1)
	go func() {
		err := f.Apply(ctx, r.Env)
		r.mu.Lock()
		r.failed = errors.Join(r.failed, err)
		r.mu.Unlock()
		done <- err
	}()
	return func() error { return <-done }
}

func (r *rig) master(n int) cluster.Master { return r.World.Masters()[n] }

func (r *rig) direct(n int, command string) string {
	return ask(r.master(n).Addr(), command, time.Second)
}

// through sends a command as the client does, through the front. It waits 100 ms for the reply.
func (r *rig) through(client string, n int, command string) string {
	return ask(r.World.Front(client)[n].Addr(), command, 100*time.Millisecond)
}

// answer is like through, but waits 10 s, for a master that must answer even if the machine is busy.
func (r *rig) answer(client string, n int, command string) string {
	return ask(r.World.Front(client)[n].Addr(), command, 10*time.Second)
}

// silence is the result of ask after a timeout.
const silence = "(silence)"

// ask sends a command on a new connection without a handshake, and returns the reply with its lines joined.
func ask(addr, command string, patience time.Duration) string {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	words := strings.Fields(command)
	request := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	_, err = conn.Write([]byte(request))
	r := bufio.NewReader(conn)
	var reply string
	if err == nil {
		reply, err = r.ReadString('\n')
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return silence
	case err != nil:
		return "(" + err.Error() + ")"
	}
	for r.Buffered() > 0 {
		line, _ := r.ReadString('\n')
		reply += line
	}
	return strings.Join(strings.Fields(reply), " ")
}

// clock returns how far the master's clock is ahead of the test's clock. The master may have read its clock at any time
// during the call. So there are several possible results, and clock returns the result that is nearest to 0.
func (r *rig) clock(t *testing.T, n int) time.Duration {
	t.Helper()
	var a, b int
	var sec, usec int64
	before := time.Now()
	reply := r.direct(n, "time")
	after := time.Now()
	_, err := fmt.Sscanf(reply, "*2 $%d %d $%d %d", &a, &sec, &b, &usec)
	if err != nil {
		t.Fatalf("TIME of m%d: %q", n, reply)
	}
	now := time.Unix(sec, usec*1000)
	if now.Before(after) {
		return min(0, now.Sub(before))
	}
	return now.Sub(after)
}

// eventually waits until holds() is true during the fault. It ends the test if the fault failed.
func (r *rig) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		r.mu.Lock()
		failed := r.failed
		r.mu.Unlock()
		done(t, failed)
		if time.Now().After(deadline) {
			t.Fatalf("never seen: %s", what)
		}
	}
}

func want(t *testing.T, reply, want string) {
	t.Helper()
	if reply != want {
		t.Errorf("the reply is %q, want %q", reply, want)
	}
}
