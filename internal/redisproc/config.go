package redisproc

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	configFile = "redis.conf"
	logFile    = "redis.log"
)

// RequestTimeout is the request timeout for clients of these servers in tests: on a busy machine, an
// answer takes longer than the library's default.
const RequestTimeout = 2500 * time.Millisecond

// Config configures a server. The zero value is a master without persistence in a temporary
// folder.
type Config struct {
	// Program is the path of the redis-server to run. Empty means the redis-server on the PATH.
	Program string

	// Dir is the folder for the data, the configuration and the log. Start makes a missing folder. Empty means a
	// temporary folder that Stop removes.
	Dir string

	// AppendFsync is "always", "everysec" or "no", and turns the AOF on. Empty means no AOF: a
	// crash loses everything.
	AppendFsync string

	// Conf holds further directives of redis.conf, with values in the form of that file. They
	// come last, so that they override the directives of this package.
	Conf map[string]string

	// Env is added to the environment of the process. Each variable has the form "NAME=value".
	Env []string
}

func (c Config) validate() error {
	var errs []error
	switch c.AppendFsync {
	case "", "always", "everysec", "no":
	default:
		errs = append(errs, fmt.Errorf("AppendFsync (%q) must be always, everysec, no or empty", c.AppendFsync))
	}
	for name, value := range c.Conf {
		if name == "" || strings.ContainsAny(name+value, "\r\n") {
			errs = append(errs, fmt.Errorf("directive (%q %q) must be one line with a name", name, value))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("redisproc: invalid config: %w", errors.Join(errs...))
}

// directives returns the text of redis.conf.
func (c Config) directives(dir string, port int) string {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "%s %s\n", name, value) }

	line("bind", "127.0.0.1")
	line("port", fmt.Sprint(port))
	line("protected-mode", "no")
	line("daemonize", "no")
	line("dir", fmt.Sprintf("%q", dir))
	line("loglevel", "warning")
	line("save", `""`)
	if c.AppendFsync == "" {
		line("appendonly", "no")
	} else {
		line("appendonly", "yes")
		line("appendfsync", c.AppendFsync)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Conf)) {
		value := c.Conf[name]
		if value == "" {
			value = `""`
		}
		line(name, value)
	}
	return b.String()
}

func (c Config) write(dir string, port int) error {
	return os.WriteFile(filepath.Join(dir, configFile), []byte(c.directives(dir, port)), 0o600)
}

// prepareDir makes the server's folder, and returns its absolute path. owned is true if Stop must remove the folder.
func (c Config) prepareDir() (dir string, owned bool, err error) {
	if c.Dir == "" {
		dir, err = os.MkdirTemp("", "redisproc-")
		return dir, true, err
	}
	if dir, err = filepath.Abs(c.Dir); err != nil {
		return "", false, err
	}
	return dir, false, os.MkdirAll(dir, 0o700)
}
