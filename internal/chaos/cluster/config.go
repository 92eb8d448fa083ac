package cluster

import (
	"fmt"
	"io"
	"os"
	"slices"
)

// Engine is a way to run the masters.
type Engine string

const (
	// Auto is Docker if the Docker Engine answers, and has or can build the image. Otherwise it is
	// Process, or an error if CI is set in the environment.
	Auto    Engine = "auto"
	Docker  Engine = "docker"
	Process Engine = "process"
)

// Fsync determines which writes a master has on disk when it answers. Each value names a file in docker/redis.
type Fsync string

const (
	Always   Fsync = "always"   // every write
	EverySec Fsync = "everysec" // writes older than about a second
	None     Fsync = "none"     // nothing: there is no append-only file
)

// Config describes a cluster.
type Config struct {
	// Engine is Auto when empty.
	Engine Engine

	// N is the number of masters, 5 when 0.
	N int

	// Fsync is Always when empty.
	Fsync Fsync

	// Clients are the names of the client processes, each of which gets fronts of its own.
	Clients []string

	// Log receives lines about the choice of the engine and its limits. Nil means os.Stderr.
	Log io.Writer
}

func (c Config) withDefaults() Config {
	if c.Engine == "" {
		c.Engine = Auto
	}
	if c.N == 0 {
		c.N = 5
	}
	if c.Fsync == "" {
		c.Fsync = Always
	}
	if c.Log == nil {
		c.Log = os.Stderr
	}
	return c
}

func (c Config) validate() error {
	if !slices.Contains([]Engine{Auto, Docker, Process}, c.Engine) {
		return fmt.Errorf("cluster: engine (%q) must be auto, docker or process", c.Engine)
	}
	return nil
}
