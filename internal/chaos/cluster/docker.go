package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/internal/chaos/containers"
	"github.com/redlock-go/redlock/internal/proc"
)

const (
	// The name of the image that docker/build.sh builds.
	repository, tag = "redlock-master", "local"
	image           = repository + ":" + tag

	// preloadMark is in the environment of an image with docker/preload/clock.c.
	preloadMark = "/redlock/clock.so"
)

// dockerEngine runs containers on the network of the host, so that a server has its port for itself: no proxy of Docker
// accepts connections while the server is down or frozen, and a replica can take over the port.
type dockerEngine struct {
	docker  *containers.Docker
	noClock error
}

func newDockerEngine(ctx context.Context) (*dockerEngine, error) {
	docker, err := containers.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDocker, err)
	}
	e := &dockerEngine{docker: docker}
	is, err := docker.Image(image)
	if err == nil && !is.Known {
		if err = build(ctx); err == nil {
			is, err = docker.Image(image)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrNoDocker, err), docker.Close())
	}
	if !slices.ContainsFunc(is.Env, func(v string) bool {
		return strings.HasPrefix(v, "LD_PRELOAD=") && strings.HasSuffix(v, preloadMark)
	}) {
		e.noClock = fmt.Errorf("%w: the image %s has no clock preload", ErrNoClock, image)
	}
	return e, nil
}

func (e *dockerEngine) clock() error { return e.noClock }
func (e *dockerEngine) close() error { return e.docker.Close() }

// launch tries another port if another process took the first port before the server listened on it.
func (e *dockerEngine) launch(at place) (server, error) {
	user, err := own(at.data)
	if err != nil {
		return nil, err
	}
	for range 5 {
		var c *container
		if c, err = e.create(at, user); err != nil {
			return nil, err
		}
		if err = c.await(); err == nil {
			return c, nil
		}
		err = errors.Join(err, c.remove())
		if !strings.Contains(err.Error(), "Address already in use") {
			return nil, err
		}
	}
	return nil, err
}

// own returns the user for a server, and makes this user the owner of the data if necessary. Then both this process and
// the server can write the data.
func own(data string) (user string, err error) {
	const redis = 999
	if os.Getuid() != 0 {
		return fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), nil
	}
	return fmt.Sprintf("%d:%d", redis, redis), os.Chown(data, redis, redis)
}

func (e *dockerEngine) create(at place, user string) (*container, error) {
	port, err := proc.FreePort()
	if err != nil {
		return nil, err
	}
	const control = "/redlock"
	cmd := []string{
		control + "/" + confName,
		"--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--protected-mode", "no", "--dir", "/data",
	}
	for _, d := range directives {
		cmd = append(cmd, "--"+d.name, d.value)
	}
	id, err := e.docker.Create(containers.Spec{
		Repository: repository,
		Tag:        tag,
		User:       user,
		Env:        []string{clockEnv + "=" + control + "/" + clockName},
		Cmd:        cmd,
		Mounts:     []string{at.data + ":/data", at.control + ":" + control},
	})
	if err != nil {
		return nil, err
	}
	return &container{docker: e.docker, id: id, port: port}, nil
}
