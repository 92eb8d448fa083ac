package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/limits"
)

// defaultDrain is below the 30 s that Kubernetes gives a container to end, and above the default
// length of a session.
const defaultDrain = 25 * time.Second

// agentConfig holds the arguments of redlock agent.
type agentConfig struct {
	deployment
	Socket     string         `placeholder:"FILE" help:"Listen on this Unix socket, which is made with mode 0600: only this user's programs can lock. A socket from systemd is used instead of this one."`
	TCP        string         `name:"tcp" placeholder:"HOST:PORT" help:"Listen on TCP instead, with --server-cert, --server-key and --token-file."`
	ServerCert string         `placeholder:"FILE" help:"The certificate of --tcp (PEM)."`
	ServerKey  string         `placeholder:"FILE" help:"The private key of --server-cert (PEM)."`
	TokenFile  string         `placeholder:"FILE" help:"The token that each request must have, as Authorization: Bearer TOKEN. Optional with --socket. A newline at the end of FILE is ignored."`
	Metrics    string         `placeholder:"[HOST]:PORT" help:"Serve only /metrics, /livez and /readyz on this address, without TLS and token, for Prometheus and probes. Default HOST: 127.0.0.1; in a pod, give 0.0.0.0."`
	MaxTTL     *time.Duration `placeholder:"TIME" help:"The longest ttl of a lock, at most the max ttl of the deployment (redlock help init). Default: the shorter of ${max_ttl} and that max ttl."`
	TTL        *time.Duration `placeholder:"TIME" help:"How long the masters keep a lock after the agent has died, unless a program asks for another ttl. Default: the shorter of ${ttl} and the max ttl."`
	Drain      time.Duration  `placeholder:"TIME" default:"${drain}" help:"How long programs may go on after a SIGTERM: see redlock help agent. Default ${default}."`

	MaxSessions int `placeholder:"N" default:"1000" help:"The most sessions at a time. Default ${default}."`
	MaxLocks    int `placeholder:"N" default:"1000" help:"The most locks of one session at a time. Default ${default}."`
	MaxWaiters  int `placeholder:"N" default:"1000" help:"The most locks that are waited for at a time. Default ${default}."`

	token string
}

func (cfg *agentConfig) check() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	errs = append(errs, cfg.deployment.check())
	maxTTL := limits.DefaultMaxTTL
	if cfg.MaxTTL != nil {
		maxTTL = *cfg.MaxTTL
		errs = append(errs, checkMaxTTL(maxTTL))
	}
	refuse(cfg.TTL != nil && (*cfg.TTL <= limits.DefaultRequestTimeout || *cfg.TTL > maxTTL),
		"invalid --ttl %v: must be above %v, the time that a master may take to answer, and at most --max-ttl, %v", cfg.TTL, limits.DefaultRequestTimeout, maxTTL)
	refuse(cfg.Drain < 0, "invalid --drain %v: must not be negative", cfg.Drain)
	for _, limit := range []struct {
		flag  string
		value int
	}{{"--max-sessions", cfg.MaxSessions}, {"--max-locks", cfg.MaxLocks}, {"--max-waiters", cfg.MaxWaiters}} {
		refuse(limit.value < 1, "invalid %s %d: must be 1 or more", limit.flag, limit.value)
	}
	refuse(cfg.Socket != "" && cfg.TCP != "", "--socket and --tcp are both given: it must be one of them")
	refuse(cfg.Socket == "" && cfg.TCP == "" && !socketActivated(), "--socket is missing: give the file of the Unix socket, or --tcp")
	secure := []struct{ flag, value string }{{"--server-cert", cfg.ServerCert}, {"--server-key", cfg.ServerKey}}
	if cfg.TCP != "" {
		_, _, err := net.SplitHostPort(cfg.TCP)
		refuse(err != nil, "invalid --tcp %q: must be HOST:PORT", cfg.TCP)
		secure = append(secure, struct{ flag, value string }{"--token-file", cfg.TokenFile})
	}
	for _, s := range secure {
		refuse(cfg.TCP != "" && s.value == "", "%s is missing: --tcp needs it, because other hosts can reach it and may read its traffic", s.flag)
		refuse(cfg.TCP == "" && s.value != "", "%s is given: it needs --tcp", s.flag)
	}
	if cfg.Metrics != "" {
		host, port, err := net.SplitHostPort(cfg.Metrics)
		refuse(err != nil, "invalid --metrics %q: must be HOST:PORT or :PORT", cfg.Metrics)
		cfg.Metrics = net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port)
	}
	if cfg.TokenFile != "" {
		var err error
		if cfg.token, err = secretFrom("--token-file", cfg.TokenFile); err != nil {
			errs = append(errs, fmt.Errorf("--token-file is %s: %w", cfg.TokenFile, err))
		}
	}
	return errors.Join(errs...)
}

// options returns the options of the client.
func (cfg *agentConfig) options() []redlock.Option {
	options := []redlock.Option{redlock.WithName("redlock agent")}
	if cfg.TTL != nil {
		options = append(options, redlock.WithTTL(*cfg.TTL))
	}
	if cfg.MaxTTL != nil {
		options = append(options, redlock.WithMaxTTL(*cfg.MaxTTL))
	}
	return options
}
