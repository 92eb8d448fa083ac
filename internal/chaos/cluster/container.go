package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/ory/dockertest/v3"
	dc "github.com/ory/dockertest/v3/docker"
)

// container is a server in a container of its own, which is started again after a crash.
type container struct {
	pool     *dockertest.Pool
	resource *dockertest.Resource
	port     int
	expire   time.Duration
}

// startTimeout is for a busy machine.
const startTimeout = 30 * time.Second

func (c *container) id() string   { return c.resource.Container.ID }
func (c *container) addr() string { return fmt.Sprintf("127.0.0.1:%d", c.port) }

// postpone makes Docker end the run that has just begun when nobody else did.
func (c *container) postpone() { _ = c.resource.Expire(uint(c.expire / time.Second)) }

func (c *container) running() bool {
	info, err := c.pool.Client.InspectContainer(c.id())
	return err == nil && info.State.Running
}

func (c *container) start() error {
	err := c.pool.Client.StartContainer(c.id(), nil)
	if already := (*dc.ContainerAlreadyRunning)(nil); err != nil && !errors.As(err, &already) {
		return err
	}
	c.postpone()
	return c.await()
}

// await waits until the server serves.
func (c *container) await() error {
	deadline := time.Now().Add(startTimeout)
	for ; ; time.Sleep(10 * time.Millisecond) {
		up := c.running() // asked first: a server that ended at its start may have ended because another one answers
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

// log returns the last lines of the server.
func (c *container) log() string {
	var b bytes.Buffer
	if err := c.pool.Client.Logs(dc.LogsOptions{
		Container: c.id(), OutputStream: &b, ErrorStream: &b, Stdout: true, Stderr: true, Tail: "20",
	}); err != nil {
		return err.Error()
	}
	return b.String()
}

func (c *container) kill() error {
	err := c.pool.Client.KillContainer(dc.KillContainerOptions{ID: c.id(), Signal: dc.SIGKILL})
	if down := (*dc.ContainerNotRunning)(nil); err != nil && !errors.As(err, &down) && c.running() {
		return err
	}
	_, err = c.pool.Client.WaitContainer(c.id())
	return err
}

func (c *container) freeze() error { return c.pool.Client.PauseContainer(c.id()) }
func (c *container) thaw() error   { return c.pool.Client.UnpauseContainer(c.id()) }
func (c *container) remove() error { return c.resource.Close() }
