package harness

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// Child is a process of this test binary, which is what Run's children have for its variable.
type Child struct {
	*exec.Cmd
	t    *testing.T
	in   io.WriteCloser
	said *bufio.Scanner
}

// StartChild starts one. It is killed at the end of the test, if it has not ended.
func StartChild(t *testing.T, variable, value string) *Child {
	t.Helper()
	c := &Child{Cmd: exec.Command(os.Args[0]), t: t}
	c.Env = append(os.Environ(), variable+"="+value)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	Must(t, err)
	out, err := c.StdoutPipe()
	Must(t, err)
	c.in, c.said = in, bufio.NewScanner(out)
	Must(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

// Line is the next line that it prints.
func (c *Child) Line() string {
	c.t.Helper()
	if !c.said.Scan() {
		c.t.Fatal("the process said nothing: ", c.said.Err())
	}
	return c.said.Text()
}

// Ask gives it a line, and returns what it prints then.
func (c *Child) Ask() string {
	c.t.Helper()
	_, err := fmt.Fprintln(c.in)
	Must(c.t, err)
	return c.Line()
}

// CloseInput ends its input.
func (c *Child) CloseInput() { Must(c.t, c.in.Close()) }
