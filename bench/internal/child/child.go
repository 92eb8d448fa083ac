// Package child runs parts of the benchmark in processes of their own. The environment of a child
// names its role. Orders and answers are JSON, over its standard input and output. A child ends with
// the process that started it.
package child

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/redlock-go/redlock/internal/proc"
)

const variable = "REDLOCK_BENCH_ROLE"

// Role does the work of a child. It reads orders from in and writes answers to out. When in ends, the child must stop.
type Role func(in *json.Decoder, out *json.Encoder) error

// Main must be called first in main() and in TestMain(). In a child, it runs the role and does not return.
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

// Process is a child that runs a role.
type Process struct {
	*exec.Cmd
	stdin io.Closer
	to    *json.Encoder
	from  *json.Decoder
}

// Self names the running program.
const Self = ""

// Start starts a child of the program. The caller must call Stop.
func Start(program, role string) (_ *Process, err error) {
	if program == Self {
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), variable+"="+role)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = new(syscall.SysProcAttr)
	proc.EndWithParent(cmd.SysProcAttr, syscall.SIGKILL)
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
	return &Process{cmd, in, json.NewEncoder(in), json.NewDecoder(out)}, nil
}

// Send sends a value, which the role decodes from in.
func (p *Process) Send(v any) error { return p.to.Encode(v) }

// Receive waits for a value that the role encodes to out.
func (p *Process) Receive(v any) error { return p.from.Decode(v) }

// Stop ends the input of the child, and waits until the child has ended.
func (p *Process) Stop() error {
	_ = p.stdin.Close() // fails if the child has ended
	return p.Wait()
}
