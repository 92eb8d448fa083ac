// Package child runs parts of the benchmark in processes of their own, of the same program. What they
// are told and what they answer is JSON, over their standard input and output. They end with the
// process that started them.
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

const variable = "REDLOCK_BENCH_CHILD"

// Main must be called first in main, and in a TestMain: in a child it calls do, and does not return.
func Main(do func(in *json.Decoder, out *json.Encoder) error) {
	if os.Getenv(variable) == "" {
		return
	}
	if err := do(json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Process is a child.
type Process struct {
	*exec.Cmd
	stdin io.Closer
	to    *json.Encoder
	from  *json.Decoder
}

// Start starts a child. The caller must call Stop.
func Start() (*Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), variable+"=1")
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

// Tell sends what the child decodes.
func (p *Process) Tell(v any) error { return p.to.Encode(v) }

// Hear waits for what the child encodes.
func (p *Process) Hear(v any) error { return p.from.Decode(v) }

// Stop tells the child that no more comes, and waits for its end.
func (p *Process) Stop() error {
	_ = p.stdin.Close() // a child that has ended has closed it
	return p.Wait()
}
