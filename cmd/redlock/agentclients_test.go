//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/testskip"
)

// fate is what becomes of a request to a fakeAgent.
type fate string

const (
	answered fate = ""
	unheard  fate = "the connection is cut before the request arrives"
	hangs    fate = "nobody answers"
)

// fakeAgent answers as an agent that holds each lock that it is asked for, and does to the requests
// of a client what a test wants.
type fakeAgent struct {
	t     *testing.T
	file  string
	over  chan struct{}
	calls chan string // as "PUT lock"
	valid time.Duration

	mu       sync.Mutex
	sessions int
	held     []string
	fates    map[string][]func() fate
}

// newFakeAgent tells its clients that each lock is valid for so long.
func newFakeAgent(t *testing.T, valid time.Duration) *fakeAgent {
	t.Helper()
	f := &fakeAgent{t: t, file: socketIn(t), over: make(chan struct{}), calls: make(chan string, 10_000), valid: valid, fates: map[string][]func() fate{}}
	l, err := net.Listen("unix", f.file)
	harness.Must(t, err)
	server := &http.Server{Handler: f}
	go func() { _ = server.Serve(l) }() // until Close
	t.Cleanup(func() { close(f.over); _ = server.Close() })
	return f
}

// before makes the next n calls of that kind meet what do returns.
func (f *fakeAgent) before(call string, n int, do func() fate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range n {
		f.fates[call] = append(f.fates[call], do)
	}
}

// meets makes the next n calls of that kind meet a fate.
func (f *fakeAgent) meets(call string, n int, with fate) {
	f.before(call, n, func() fate { return with })
}

// always is as often as a test can last.
const always = 100_000

// restart ends the session and its locks.
func (f *fakeAgent) restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions++ // that of the next answer
	f.held = nil
}

func (f *fakeAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is seen
	words := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	call := r.Method + " " + map[int]string{1: "sessions", 2: "session", 3: "keep", 4: "lock"}[len(words)]
	f.mu.Lock()
	held := slices.Clone(f.held) // what an answer to keep tells was so when the request came
	do := func() fate { return answered }
	if waiting := f.fates[call]; len(waiting) > 0 {
		do, f.fates[call] = waiting[0], waiting[1:]
	}
	f.mu.Unlock()
	f.calls <- call
	switch do() {
	case unheard:
		conn, _, err := w.(http.Hijacker).Hijack()
		harness.Check(f.t, err)
		_ = conn.Close()
		return
	case hangs:
		select {
		case <-r.Context().Done():
		case <-f.over:
		}
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	session := fmt.Sprintf("s%d", f.sessions)
	if len(words) > 1 && words[1] != session {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"type": "#no-session", "detail": "there is no such session"}`)
		return
	}
	lock := func(id string) map[string]any {
		return map[string]any{"id": id, "state": "held", "valid_for_ms": f.valid.Milliseconds(), "token": "1792713600123", "draining": false}
	}
	switch call {
	case "PUT lock":
		f.held = append(slices.DeleteFunc(f.held, func(id string) bool { return id == words[3] }), words[3])
		_ = json.NewEncoder(w).Encode(lock(words[3]))
	case "GET lock":
		_ = json.NewEncoder(w).Encode(lock(words[3]))
	case "DELETE lock":
		f.held = slices.DeleteFunc(f.held, func(id string) bool { return id == words[3] })
		fmt.Fprint(w, `{"state": "released", "freed": true}`)
	default:
		locks := []any{}
		for _, id := range held {
			locks = append(locks, lock(id))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"session": session, "valid_for_ms": 600_000, "draining": false, "locks": locks})
	}
}

// sees waits for the next call of that kind.
func (f *fakeAgent) sees(call string) {
	f.t.Helper()
	for patience := time.After(deadline); ; {
		select {
		case got := <-f.calls:
			if got == call {
				return
			}
		case <-patience:
			f.t.Fatalf("no call %q", call)
		}
	}
}

// saw returns the calls that nobody has waited for, but those that only keep the session.
func (f *fakeAgent) saw() (all []string) {
	for {
		select {
		case call := <-f.calls:
			if call != "POST keep" {
				all = append(all, call)
			}
		default:
			return all
		}
	}
}

// input is what a program reads.
type input struct {
	t *testing.T
	w io.Writer
}

// next lets the program go on that reads a line.
func (i input) next() {
	i.t.Helper()
	_, err := i.w.Write([]byte("\n"))
	harness.Must(i.t, err)
}

// python starts a program with the client, which gets the socket of an agent as its argument.
func python(t *testing.T, file, code string) (*running, input) {
	t.Helper()
	return program(t, "python3", "-c", `
import asyncio, contextlib, os, sys, threading, time, redlock_agent

def say(line):
    sys.stdout.write(line + "\n")  # at once: there may be several threads
    sys.stdout.flush()
`+code, file)
}

// program starts a program in another language.
func program(t *testing.T, words ...string) (*running, input) {
	t.Helper()
	_, err := exec.LookPath(words[0])
	testskip.IfLacking(t, err, exec.ErrNotFound)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "PYTHONPATH=agent/clients", "PYTHONDONTWRITEBYTECODE=1")
	in, err := cmd.StdinPipe()
	harness.Must(t, err)
	return start(t, cmd), input{t, in}
}

// The client in Python ends the work of locks that were lost on the masters, in the main thread and
// in another, and disturbs nothing after it.
func TestPythonClientEndsWork(t *testing.T) {
	t.Parallel()
	servers := realMasters(t, 3)
	file := socketIn(t)
	agent := serving(t, command(t, "agent", mastersFlag(servers), "--socket", file, "--ttl=3s"))
	const program = `
def block(session, name, interrupt):
    try:
        with session.lock(name, wait=30, interrupt=interrupt) as lock:
            say(f"holds {name}")
            while interrupt:
                time.sleep(600)
            while True:
                lock.check()
                time.sleep(0.01)
    except redlock_agent.Lost as e:
        say(f"lost {name} {e}")

with redlock_agent.Session(sys.argv[1], ttl=4) as session:
    other = threading.Thread(target=block, args=(session, "thread", False))
    other.start()
    block(session, "main", True)
    other.join()
    with session.lock(["one", "two"], wait=30) as both:
        time.sleep(0.5)
    say(f"goes on with {len(both.tokens)}")
with redlock_agent.Session(sys.argv[1], ttl=600) as session: # it asks seldom
    try:
        with session.lock("unlock", wait=30, ttl=3):
            say("holds unlock")
            sys.stdin.readline()
    except redlock_agent.Lost as e:
        say(f"lost unlock {e}")
`
	r, in := python(t, file, program)
	r.line("holds")
	r.line("holds")
	client := rival(t, servers)
	take := func(name string) {
		held, err := admin.Inspect(t.Context(), client, name)
		harness.Must(t, err)
		_, err = admin.ForceUnlock(t.Context(), client, held)
		harness.Must(t, err)
	}
	for _, name := range []string{"main", "thread"} {
		take(name)
		r.line("lost " + name)
		agent.line("lock lost before its unlock")
	}
	r.line("goes on with 2")
	r.line("holds unlock")
	take("unlock")
	agent.line("lock lost before its unlock") // the agent knows, and the program does not
	in.next()
	r.line("lost unlock")
	if status := r.status(); status != 0 {
		t.Errorf("status %d", status)
	}
}

// The client in Python counts from before it sent the request: what the answer takes is not
// believed.
func TestPythonClientCountsFromTheRequest(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t, 5*time.Second)
	f.before("PUT lock", 3, func() fate { time.Sleep(time.Second); return answered }) // the way of the answer
	r, _ := python(t, f.file, `
with redlock_agent.Session(sys.argv[1], ttl=600) as session:
    with session.lock("job") as lock:
        say(f"left {lock.left()}s")
`)
	left, err := time.ParseDuration(r.line("left "))
	harness.Must(t, err)
	if left <= 0 || left > 4*time.Second {
		t.Errorf("it believes in the lock for %v", left)
	}
}

// The client asks again by what is left of a lock, though its session lasts for long.
func TestPythonClientAsksByWhatIsLeft(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t, 3*time.Second)
	r, in := python(t, f.file, `
with redlock_agent.Session(sys.argv[1], ttl=600) as session:
    with session.lock("job") as lock:
        say("holds")
        sys.stdin.readline()
        lock.check()
    say("held to the end")
`)
	r.line("holds")
	for range 3 {
		f.sees("POST keep")
	}
	in.next()
	r.line("held to the end")
}

// An answer that was made before a lock was taken tells nothing of that lock.
func TestPythonClientTakesNoOldAnswerForALoss(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t, 5*time.Second)
	taken := make(chan struct{})
	f.before("POST keep", 1, func() fate { <-taken; return answered })
	r, in := python(t, f.file, `
with redlock_agent.Session(sys.argv[1], ttl=600) as session:
    with session.lock("job"):
        sys.stdin.readline()
        with session.lock("other") as other:
            say("holds both")
            sys.stdin.readline()
            other.check()
            say("holds it still")
`)
	f.sees("POST keep")
	in.next()
	r.line("holds both")
	close(taken)
	f.sees("POST keep")
	in.next()
	r.line("holds it still")
}

// A lock that was waited for for long has all its time when its block begins: the client asks once
// more.
func TestPythonClientAsksAgainAfterAWait(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t, 10*time.Second)
	f.before("PUT lock", 1, func() fate { time.Sleep(2 * time.Second); return answered })
	r, _ := python(t, f.file, `
with redlock_agent.Session(sys.argv[1], ttl=600) as session:
    with session.lock("job", wait=60) as lock:
        say(f"left {lock.left()}s")
`)
	left, err := time.ParseDuration(r.line("left "))
	harness.Must(t, err)
	if left <= 8*time.Second {
		t.Errorf("%v are left", left)
	}
}

// An unlock that does not arrive is sent again: after a block, and after a wait that was given up.
func TestPythonClientUnlocksAgain(t *testing.T) {
	t.Parallel()
	for _, block := range []string{"left", "given up"} {
		t.Run(block, func(t *testing.T) {
			t.Parallel()
			f := newFakeAgent(t, 10*time.Minute)
			f.meets("DELETE lock", 2, unheard)
			if block == "given up" {
				f.meets("PUT lock", always, hangs)
			}
			r, in := python(t, f.file, `
with redlock_agent.Session(sys.argv[1], ttl=1 if "`+block+`" == "given up" else 600) as session:
    try:
        with session.lock("job"):
            pass
    except redlock_agent.Unreachable:
        pass
    say("goes on")
    sys.stdin.readline()
`)
			r.line("goes on")
			for range 3 {
				f.sees("DELETE lock")
			}
			in.next()
			f.sees("DELETE session")
			r.status()
			if calls := f.saw(); len(calls) != 0 {
				t.Errorf("it went on, after the answer, with %q", calls)
			}
		})
	}
}

// Work that looks at its lock ends when the lock does, in each way to look, and without SIGINT,
// which is ignored in what a script starts with &.
func TestPythonClientTellsOfALoss(t *testing.T) {
	t.Parallel()
	for way, code := range map[string]string{
		"check": `
with session.lock("job") as lock:
    begin(lock)
    while True:
        lock.check()
        time.sleep(0.01)
`,
		"left": `
with session.lock("job") as lock:
    begin(lock)
    while lock.left() > 0:
        time.sleep(0.01)
`,
		"lost": `
with session.lock("job") as lock:
    begin(lock)
    lock.lost.wait()
`,
		"on_loss": `
told = threading.Event()
with session.lock("job", on_loss=lambda lock: told.set()) as lock:
    begin(lock)
    told.wait()
`,
		"interrupt": `
with session.lock("job", interrupt=True) as lock:
    begin(lock)
    time.sleep(600)
`,
		"interrupt, outer block": `
with session.lock("job", interrupt=True) as lock:
    with session.lock("other", interrupt=True) as other:
        begin(lock)
        other._until += 600 # it is not lost
        time.sleep(600)
`,
		"interrupt, in a wait": `
with session.lock("job", interrupt=True) as lock:
    begin(lock)
    with session.lock("other", wait=600, interrupt=True) as other:
        pass
`,
		"async": `
async def work():
    async with session.lock("job") as lock:
        begin(lock)
        await asyncio.sleep(600)
async def main():
    try:
        await work()
    finally:
        if asyncio.current_task().cancelling():
            say("it is cancelled after its block")
        await asyncio.sleep(0)
asyncio.run(main())
`,
		"async, in a group": `
async def main():
    async with session.lock("job") as lock:
        begin(lock)
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(asyncio.sleep(600))
asyncio.run(main())
`,
		"async, swallowed": `
async def main():
    async with session.lock("job") as lock:
        begin(lock)
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass
asyncio.run(main())
`,
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			f := newFakeAgent(t, 2*time.Second)
			first := true
			f.before("PUT lock", always, func() fate {
				if f.mu.Lock(); strings.Contains(way, "wait") && !first {
					defer f.mu.Unlock()
					return hangs
				}
				first = false
				f.mu.Unlock()
				return answered
			})
			f.meets("POST keep", always, hangs)
			f.meets("DELETE lock", always, hangs)
			r, _ := program(t, "sh", "-c", `trap "" INT; exec python3 -c "$0" "$1"`, `
import asyncio, signal, sys, threading, time, redlock_agent

def begin(lock):
    global until
    until = lock._until
    print("holds", flush=True)

session = redlock_agent.Session(sys.argv[1], ttl=600)
handler = signal.getsignal(signal.SIGURG)
assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
try:
`+strings.ReplaceAll("\n"+strings.TrimSpace(code), "\n", "\n    ")+`
except redlock_agent.Lost as e:
    print("lost", "job" if "'job'" in str(e) and redlock_agent.now() >= until else e, flush=True)
except BaseException as e:
    print("ended by", repr(e), flush=True)
if signal.getsignal(signal.SIGURG) != handler:
    print("the handler is left", flush=True)
print("end", flush=True)
`, f.file)
			r.line("holds")
			if what := r.line("lost"); what != "job" {
				t.Errorf("lost %s", what)
			}
			if left := r.line(""); left != "end" {
				t.Errorf("after it: %s", left)
			}
		})
	}
}

// A task that is cancelled by others, too, ends by that. What it waited for is given up.
func TestPythonClientLetsOthersCancel(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t, 2*time.Second)
	f.meets("POST keep", always, hangs)
	r, in := python(t, f.file, `
session = redlock_agent.Session(sys.argv[1], ttl=600)

async def cancelled_twice():
    task = asyncio.current_task()
    async with session.lock("job") as lock:
        cancel = lock._cancel
        lock._cancel = lambda: (cancel(), task.cancel()) # before the task runs
        await asyncio.sleep(600)

async def cancelled_before():
    async with session.lock("job") as lock:
        lock._until = 0.0 # it is lost, and nobody has seen it
        asyncio.current_task().cancel()
        await asyncio.sleep(600)

async def waits():
    async with session.lock("job", wait=600):
        say("it has it")

async def main():
    for work in cancelled_twice, cancelled_before:
        try:
            await asyncio.create_task(work())
        except BaseException as e:
            say(f"{work.__name__}: {e!r}")
    task = asyncio.create_task(waits())
    await asyncio.to_thread(sys.stdin.readline)
    task.cancel()
    try:
        await task
    except BaseException as e:
        say(f"waits: {e!r}")
    await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
`)
	for _, work := range []string{"cancelled_twice", "cancelled_before"} {
		if got := r.line(work + ": "); !strings.HasPrefix(got, "CancelledError(") {
			t.Errorf("%s ended by %s", work, got)
		}
		f.sees("DELETE lock")
		f.meets("PUT lock", 1, map[string]fate{"cancelled_twice": answered, "cancelled_before": hangs}[work])
	}
	f.sees("PUT lock")
	in.next()
	if got := r.line("waits: "); got != "CancelledError()" {
		t.Errorf("the wait ended by %s", got)
	}
	f.sees("DELETE lock")
	in.next()
}

// A child that a fork made cannot use the session and its locks, says so, and sends nothing. It may
// open a session.
func TestPythonClientInAChild(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t, 10*time.Minute)
	r, in := python(t, f.file, `
def tries(what, call):
    try:
        call()
        say(f"it can {what}")
    except redlock_agent.Closed as e:
        say(f"refused {what} {e}")

def leaves(other=None):
    with contextlib.ExitStack() as blocks:
        blocks.push(session)
        blocks.push(block)
        if other:
            raise other

def asks():
    async def work():
        async with unused[1]:
            pass
    asyncio.run(work())

def child():
    tries("check", lock.check)
    tries("left", lock.left)
    tries("lost", lambda: lock.lost)
    tries("lock", lambda: session.lock("job"))
    tries("enter", unused[0].__enter__)
    tries("await", asks)
    tries("close", session.close)
    tries("leave", leaves)
    try:
        leaves(SystemExit("its own"))
    except SystemExit as e:
        say(f"ends by {e}")
    say("is done")
    sys.stdin.readline()
    with redlock_agent.Session(sys.argv[1]) as own:
        with own.lock("other") as lock_of_child:
            lock_of_child.check()
    os._exit(0)

session = redlock_agent.Session(sys.argv[1], ttl=600)
unused = [session.lock("job") for _ in range(2)]
block = session.lock("job")
with session, block as lock:
    pid = os.fork()
    if pid == 0:
        child()
    os.waitpid(pid, 0)
    lock.check()
    say("the parent holds it")
    sys.stdin.readline()
`)
	for _, use := range []string{"check", "left", "lost", "lock", "enter", "await", "close", "leave"} {
		if got := r.line(""); !strings.HasPrefix(got, "refused "+use+" the session belongs to process") {
			t.Errorf("%s: %s", use, got)
		}
	}
	r.line("ends by its own")
	r.line("is done")
	if calls := f.saw(); !slices.Equal(calls, []string{"POST sessions", "PUT lock"}) {
		t.Errorf("saw %q", calls)
	}
	in.next()
	r.line("the parent holds it")
	if calls := f.saw(); !slices.Equal(calls, []string{"POST sessions", "PUT lock", "DELETE lock", "DELETE session"}) {
		t.Errorf("the child's own: saw %q", calls)
	}
	in.next()
	r.status()
	if calls := f.saw(); !slices.Equal(calls, []string{"DELETE lock", "DELETE session"}) {
		t.Errorf("the parent: saw %q", calls)
	}
}

// Where nothing was held, nothing is lost: an agent that is gone during a wait is unreachable.
func TestPythonClientWaitsForAnAgentThatIsGone(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t, 10*time.Minute)
	f.before("PUT lock", always, func() fate { f.restart(); return unheard })
	for _, call := range []string{"POST keep", "DELETE lock", "DELETE session"} {
		f.meets(call, always, unheard)
	}
	r, in := python(t, f.file, `
session = redlock_agent.Session(sys.argv[1], ttl=1)
sys.stdin.readline()
try:
    with session.lock("job", wait=0.5):
        say("holds")
except Exception as e:
    say(f"ended by {type(e).__name__} {e}")
`)
	f.sees("POST sessions")
	f.meets("POST sessions", always, unheard)
	in.next()
	if got := r.line("ended by "); !strings.HasPrefix(got, "Unreachable") {
		t.Errorf("ended by %s", got)
	}
}

// When the agent was started again, the locks of its sessions are lost, and the next lock opens a
// new session: also one that was waited for meanwhile.
func TestPythonClientOpensASessionAgain(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t, 5*time.Second)
	r, in := python(t, f.file, `
with redlock_agent.Session(sys.argv[1], ttl=600) as session:
    try:
        with session.lock("job") as lock:
            say("holds")
            lock.lost.wait()
    except redlock_agent.Lost as e:
        say(f"lost {e}")
    with session.lock("job") as lock:
        say("holds again")
        sys.stdin.readline()
    with session.lock("job", wait=60) as lock:
        say("got what it waited for")
    say("end")
`)
	r.line("holds")
	f.restart()
	r.line("there is no such session")
	r.line("holds again")
	f.before("PUT lock", 1, func() fate { f.restart(); return answered })
	in.next()
	r.line("got what it waited for")
	r.line("end")
	if n := slices.DeleteFunc(f.saw(), func(call string) bool { return call != "POST sessions" }); len(n) != 3 {
		t.Errorf("%d sessions were opened", len(n))
	}
}

// The example in shell ends its command before the end of the lock, though the agent hangs.
func TestJobInShellEndsInTime(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t, 3*time.Second)
	asked := make(chan time.Duration, 2)
	f.before("PUT lock", 2, func() fate { asked <- sinceBoot(t); return answered })
	f.meets("GET lock", always, hangs)
	_, err := exec.LookPath("curl")
	testskip.IfLacking(t, err, exec.ErrNotFound)
	r, _ := program(t, "agent/examples/job.sh", f.file, "job", "sh", "-c", `while cut -d " " -f 1 /proc/uptime; do sleep 0.02; done`)
	var last time.Duration
	for {
		line := r.line("")
		if strings.Contains(line, "the lock is lost") {
			break
		}
		if at, err := time.ParseDuration(line + "s"); err == nil { // else curl complains
			last = at
		}
	}
	<-asked
	if until := <-asked + f.valid; last == 0 || last >= until {
		t.Errorf("the command ran %v before the end of its lock", until-last)
	}
	if status := r.status(); status != 76 {
		t.Errorf("status %d", status)
	}
}

// sinceBoot reads the clock of the shell's example.
func sinceBoot(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile("/proc/uptime")
	harness.Must(t, err)
	first, _, _ := strings.Cut(string(text), " ")
	since, err := time.ParseDuration(first + "s")
	harness.Must(t, err)
	return since
}

// The example for Node asks again by what is left, and ends its work when the lock is lost.
func TestJobInNode(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t, 3*time.Second)
	r, in := program(t, "node", "-e", `
const { withLock } = require('./agent/examples/job.js');
withLock(process.argv[1], 'job', (token, signal) => new Promise((resolve) => {
  console.log('holds');
  signal.addEventListener('abort', () => { console.log('aborted'); resolve(); });
  process.stdin.once('data', () => console.log(signal.aborted ? 'is over' : 'still holds'));
})).catch((error) => { console.log('rejects:', error.message); process.exit(0); });
`, f.file)
	r.line("holds")
	for range 3 {
		f.sees("POST keep")
	}
	in.next()
	r.line("still holds")
	f.meets("POST keep", always, hangs)
	r.line("aborted")
	r.line("rejects: the lock is lost")
}
