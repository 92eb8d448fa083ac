package cluster

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/containers"
)

// container is a server in a container of its own. It can be started again after a crash.
type container struct {
	docker *containers.Docker
	id     string
	port   int
}

// startTimeout allows for a busy machine.
const startTimeout = 30 * time.Second

func (c *container) addr() string { return fmt.Sprintf("127.0.0.1:%d", c.port) }

func (c *container) running() bool {
	running, err := c.docker.Running(c.id)
	return err == nil && running
}

func (c *container) start() error {
	if err := c.docker.Start(c.id); err != nil {
		return err
	}
	return c.await()
}

// await waits until the server serves.
func (c *container) await() error {
	deadline := time.Now().Add(startTimeout)
	for ; ; time.Sleep(10 * time.Millisecond) {
		up := c.running() // checked before serves(), because another server may answer if this server ended at its start
		switch {
		case up && serves(c.addr()):
			if c.running() {
				return nil
			}
		case !up:
			return fmt.Errorf("cluster: redis-server on %s ended at its start: %s", c.addr(), c.log())
		case time.Now().After(deadline):
			return fmt.Errorf("cluster: redis-server on %s does not answer after %s: %s", c.addr(), startTimeout, c.log())
		}
	}
}

// log returns the last lines of the server's output.
func (c *container) log() string {
	lines, err := c.docker.Log(c.id)
	if err != nil {
		return err.Error()
	}
	return lines
}

func (c *container) kill() error   { return c.docker.Kill(c.id) }
func (c *container) freeze() error { return c.docker.Pause(c.id) }
func (c *container) thaw() error   { return c.docker.Unpause(c.id) }
func (c *container) remove() error { return c.docker.Remove(c.id) }
