// Command docker runs containers for a chaos run. It reads the requests of package containers from its standard
// input.
//
// It is a module of its own because of the dependencies of a Docker client.
package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/rpc"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/ory/dockertest/v3"
	dc "github.com/ory/dockertest/v3/docker"

	"github.com/redlock-go/redlock/internal/chaos/containers"
)

func main() {
	signal.Ignore(os.Interrupt) // Ctrl-C also ends the harness, and this program must then remove the containers
	pool, err := dockertest.NewPool("")
	if err != nil {
		log.Fatal(err)
	}
	d := &Docker{pool: pool}
	service := rpc.NewServer()
	if err := service.RegisterName(containers.Service, d); err != nil {
		log.Fatal(err)
	}
	service.ServeConn(struct {
		io.Reader
		io.WriteCloser
	}{os.Stdin, os.Stdout})
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range d.created {
		if err := d.remove(id); err != nil {
			log.Print(err)
		}
	}
}

// Docker handles the calls of package containers. That package documents the calls.
type Docker struct {
	pool *dockertest.Pool

	mu      sync.Mutex
	created []string
}

// Ping returns an error if no Docker Engine answers.
func (d *Docker) Ping(_ string, ok *bool) error {
	*ok = true
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return d.pool.Client.PingWithContext(ctx)
}

// Image describes an image.
func (d *Docker) Image(name string, reply *containers.Image) error {
	image, err := d.pool.Client.InspectImage(name)
	if errors.Is(err, dc.ErrNoSuchImage) {
		return nil
	}
	if err != nil {
		return err
	}
	*reply = containers.Image{Known: true, Env: image.Config.Env}
	return nil
}

// Create creates and starts a container.
func (d *Docker) Create(s containers.Spec, id *string) error {
	resource, err := d.pool.RunWithOptions(&dockertest.RunOptions{
		Repository: s.Repository,
		Tag:        s.Tag,
		User:       s.User,
		Env:        s.Env,
		Cmd:        s.Cmd,
		Mounts:     s.Mounts,
	}, func(host *dc.HostConfig) {
		host.NetworkMode = "host"
		host.PublishAllPorts = false
	})
	if err != nil {
		return err
	}
	*id = resource.Container.ID
	d.mu.Lock()
	defer d.mu.Unlock()
	d.created = append(d.created, *id)
	return nil
}

// Do executes an Order.
func (d *Docker) Do(o containers.Order, ok *bool) error {
	*ok = true
	switch o.Do {
	case "start":
		err := d.pool.Client.StartContainer(o.ID, nil)
		if already := (*dc.ContainerAlreadyRunning)(nil); errors.As(err, &already) {
			return nil
		}
		return err
	case "kill":
		return d.kill(o.ID)
	case "pause":
		return d.pool.Client.PauseContainer(o.ID)
	case "unpause":
		return d.pool.Client.UnpauseContainer(o.ID)
	case "remove":
		return d.remove(o.ID)
	}
	return errors.New("docker: there is no order " + o.Do)
}

// Running reports whether a container runs.
func (d *Docker) Running(id string, reply *bool) error {
	info, err := d.pool.Client.InspectContainer(id)
	if err != nil {
		return err
	}
	*reply = info.State.Running
	return nil
}

func (d *Docker) kill(id string) error {
	err := d.pool.Client.KillContainer(dc.KillContainerOptions{ID: id, Signal: dc.SIGKILL})
	if down := (*dc.ContainerNotRunning)(nil); err != nil && !errors.As(err, &down) {
		var running bool
		if d.Running(id, &running) != nil || running {
			return err
		}
	}
	_, err = d.pool.Client.WaitContainer(id)
	return err
}

func (d *Docker) remove(id string) error {
	err := d.pool.Client.RemoveContainer(dc.RemoveContainerOptions{ID: id, Force: true, RemoveVolumes: true})
	if gone := (*dc.NoSuchContainer)(nil); errors.As(err, &gone) {
		return nil
	}
	return err
}

// Log returns the last output of a container.
func (d *Docker) Log(id string, lines *string) error {
	var b bytes.Buffer
	err := d.pool.Client.Logs(dc.LogsOptions{
		Container: id, OutputStream: &b, ErrorStream: &b, Stdout: true, Stderr: true, Tail: "20",
	})
	*lines = b.String()
	return err
}
