// Command docker runs containers for a chaos run, as package containers asks for them on the
// standard input.
//
// It is a module of its own because of all that a client of Docker depends on.
package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/rpc"
	"os"
	"time"

	"github.com/ory/dockertest/v3"
	dc "github.com/ory/dockertest/v3/docker"

	"github.com/redlock-go/redlock/internal/chaos/containers"
)

func main() {
	pool, err := dockertest.NewPool("")
	if err != nil {
		log.Fatal(err)
	}
	service := rpc.NewServer()
	if err := service.RegisterName(containers.Service, &Docker{pool}); err != nil {
		log.Fatal(err)
	}
	service.ServeConn(struct {
		io.Reader
		io.WriteCloser
	}{os.Stdin, os.Stdout})
}

// Docker answers the calls of package containers, where their meaning is written.
type Docker struct{ pool *dockertest.Pool }

// Ping fails when no Docker Engine answers.
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

// List lists the containers with a label.
func (d *Docker) List(label string, reply *[]containers.Labelled) error {
	all, err := d.pool.Client.ListContainers(dc.ListContainersOptions{
		All:     true,
		Filters: map[string][]string{"label": {label}},
	})
	for _, c := range all {
		*reply = append(*reply, containers.Labelled{ID: c.ID, Label: c.Labels[label]})
	}
	return err
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
		Labels:     s.Labels,
	}, func(host *dc.HostConfig) {
		host.NetworkMode = "host"
		host.PublishAllPorts = false
	})
	if err != nil {
		return err
	}
	*id = resource.Container.ID
	return nil
}

// Start starts a container.
func (d *Docker) Start(id string, ok *bool) error {
	*ok = true
	err := d.pool.Client.StartContainer(id, nil)
	if already := (*dc.ContainerAlreadyRunning)(nil); errors.As(err, &already) {
		return nil
	}
	return err
}

// Expire sets the end of a container that runs. Docker waits for it, and so for this program no
// longer than it lives.
func (d *Docker) Expire(e containers.Expiry, ok *bool) error {
	*ok = true
	go func() { _ = d.pool.Client.StopContainer(e.ID, uint(e.After/time.Second)) }() // it may have ended before
	return nil
}

// Running asks whether a container runs.
func (d *Docker) Running(id string, reply *bool) error {
	info, err := d.pool.Client.InspectContainer(id)
	if err != nil {
		return err
	}
	*reply = info.State.Running
	return nil
}

// Kill ends a container.
func (d *Docker) Kill(id string, ok *bool) error {
	*ok = true
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

// Pause freezes a container.
func (d *Docker) Pause(id string, ok *bool) error {
	*ok = true
	return d.pool.Client.PauseContainer(id)
}

// Unpause lets a container go on.
func (d *Docker) Unpause(id string, ok *bool) error {
	*ok = true
	return d.pool.Client.UnpauseContainer(id)
}

// Remove removes a container.
func (d *Docker) Remove(id string, ok *bool) error {
	*ok = true
	err := d.pool.Client.RemoveContainer(dc.RemoveContainerOptions{ID: id, Force: true, RemoveVolumes: true})
	if gone := (*dc.NoSuchContainer)(nil); errors.As(err, &gone) {
		return nil
	}
	return err
}

// Log reads what a container has printed last.
func (d *Docker) Log(id string, lines *string) error {
	var b bytes.Buffer
	err := d.pool.Client.Logs(dc.LogsOptions{
		Container: id, OutputStream: &b, ErrorStream: &b, Stdout: true, Stderr: true, Tail: "20",
	})
	*lines = b.String()
	return err
}
