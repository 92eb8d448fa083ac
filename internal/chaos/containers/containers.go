// Package containers runs containers through another program. This program, in the folder docker, is a module of its
// own, so that users of the lock do not get the dependencies of a Docker client.
//
// The go command builds the program. At the end of its input the program removes its containers and ends, so neither
// the program nor the containers outlive the harness.
package containers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Service is the name of the program's RPC service.
const Service = "Docker"

// Messages to the program and from the program.
type (
	// Spec is a container on the network of the host.
	Spec struct {
		Repository, Tag string // of the image
		User            string
		Env, Cmd        []string
		Mounts          []string // "FOLDER OF THE HOST:FOLDER IN THE CONTAINER"
	}

	// Order is an action on a container.
	Order struct{ Do, ID string }

	// Image describes an image.
	Image struct {
		Known bool
		Env   []string
	}
)

// Docker is a program that runs containers. Its methods may be called from several goroutines.
type Docker struct {
	program *exec.Cmd
	output  bytes.Buffer
	calls   *rpc.Client
}

// Open starts the program, and returns when the program has reached a Docker Engine. The caller must call Close.
func Open() (*Docker, error) {
	if err := listens(); err != nil {
		return nil, err
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/redlock-go/redlock").Output()
	if err != nil {
		return nil, fmt.Errorf("folder of the module: %w", err)
	}
	d := &Docker{program: exec.Command("go", "run", ".")}
	d.program.Dir = filepath.Join(strings.TrimSpace(string(root)), "internal", "chaos", "containers", "docker")
	d.program.Stderr = &d.output
	in, err := d.program.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := d.program.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.program.Start(); err != nil {
		return nil, err
	}
	d.calls = rpc.NewClient(struct {
		io.Reader
		io.WriteCloser
	}{out, in})
	if err := d.call("Ping", "", new(bool)); err != nil {
		ended := d.Close()
		return nil, errors.Join(err, ended)
	}
	return d, nil
}

// listens returns an error if nothing listens at the socket of the Docker Engine. This check avoids a useless build
// of the program.
func listens() error {
	address := os.Getenv("DOCKER_HOST")
	if address == "" {
		address = "unix:///var/run/docker.sock"
	}
	path, isSocket := strings.CutPrefix(address, "unix://")
	if !isSocket {
		return nil
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Close ends the program, and removes its containers.
func (d *Docker) Close() error {
	_ = d.calls.Close() // fails after an earlier error
	if err := d.program.Wait(); err != nil {
		return fmt.Errorf("program that runs containers: %w: %s", err, d.output.String())
	}
	return nil
}

func (d *Docker) call(method string, args, reply any) error {
	return d.calls.Call(Service+"."+method, args, reply)
}

func (d *Docker) order(do, id string) error { return d.call("Do", Order{do, id}, new(bool)) }

// Image describes an image.
func (d *Docker) Image(name string) (i Image, err error) { return i, d.call("Image", name, &i) }

// Create creates a container, starts it and returns its id.
func (d *Docker) Create(s Spec) (id string, err error) { return id, d.call("Create", s, &id) }

// Running reports whether a container runs.
func (d *Docker) Running(id string) (running bool, err error) {
	return running, d.call("Running", id, &running)
}

// Start starts a container that does not run.
func (d *Docker) Start(id string) error { return d.order("start", id) }

// Kill kills a container, and returns when the container has ended.
func (d *Docker) Kill(id string) error { return d.order("kill", id) }

// Pause freezes a container, and Unpause continues it.
func (d *Docker) Pause(id string) error   { return d.order("pause", id) }
func (d *Docker) Unpause(id string) error { return d.order("unpause", id) }

// Remove ends and removes a container. A missing container is no error.
func (d *Docker) Remove(id string) error { return d.order("remove", id) }

// Log returns the last lines of a container's output.
func (d *Docker) Log(id string) (lines string, err error) { return lines, d.call("Log", id, &lines) }
