// Package reexec runs parts of the benchmark in processes of their own: the same binary again, or
// another one of the benchmark, told by its environment what to be. What they are told and what
// they answer is JSON, over their standard input and output. They end with the process that started
// them.
package reexec

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

const variable = "REDLOCK_BENCH_ROLE"

// Role is what a child does: it reads from in, which ends when it is to stop, and writes to out.
type Role func(in *json.Decoder, out *json.Encoder) error

// Main must be called first in main, and in a TestMain: in a child it plays its role and does not
// return.
func Main(roles map[string]Role) {
	name := os.Getenv(variable)
	if name == "" {
		return
	}
	role, ok := roles[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "%s=%s: no such role\n", variable, name)
		os.Exit(2)
	}
	if err := role(json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// UntilStopped waits until the parent stops this child.
func UntilStopped(in *json.Decoder) {
	var ignored any
	for in.Decode(&ignored) == nil {
	}
}

// Child is a process that plays a role.
type Child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	to    *json.Encoder
	from  *json.Decoder
}

// Self is the program that runs.
const Self = ""

// Start starts a child of the program. The caller must call Stop.
func Start(program, role string) (*Child, error) {
	if program == Self {
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), variable+"="+role)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Child{cmd: cmd, stdin: in, to: json.NewEncoder(in), from: json.NewDecoder(out)}, nil
}

// PID of the process.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Tell sends what the role decodes from in.
func (c *Child) Tell(v any) error { return c.to.Encode(v) }

// Hear waits for what the role encodes to out.
func (c *Child) Hear(v any) error { return c.from.Decode(v) }

// Signal sends it a signal.
func (c *Child) Signal(s syscall.Signal) error { return c.cmd.Process.Signal(s) }

// Stop tells the child that no more comes, and waits for its end.
func (c *Child) Stop() error {
	_ = c.stdin.Close() // a child that has ended has closed it
	return c.cmd.Wait()
}
