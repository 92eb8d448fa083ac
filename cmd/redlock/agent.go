//go:build unix

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/cmd/redlock/agent"
)

const (
	maxHeader  = 16 << 10        // bytes of a request's header
	slowHeader = 5 * time.Second // how long a program may take to send the header
	idle       = 2 * time.Minute // how long a connection may stay unused
	lastWords  = time.Second     // extra wait after --drain for the last sessions, and the wait for the last answers
	firstFD    = 3               // the descriptor of the first socket that systemd passes
)

// run serves the API until a signal ends it, and returns the exit status.
func (cfg *agentConfig) run() int {
	logs := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{ReplaceAttr: withUnit}))
	metrics := agent.NewMetrics()
	client, err := cfg.openClient(nil, append(cfg.options(), redlock.WithObserver(redlock.Observers(redlock.LogObserver(logs), metrics.Observer())))...)
	if err != nil {
		complain(err)
		return exitUsage
	}
	var probed net.Listener // nil: there is no port for metrics
	if cfg.Metrics != "" {
		if probed, err = net.Listen("tcp", cfg.Metrics); err != nil {
			_ = client.Close() // the client has sent nothing
			complain(fmt.Errorf("--metrics is %s: %w", cfg.Metrics, err))
			return exitUnavailable
		}
	}
	listener, err := cfg.listen()
	if err != nil {
		_ = client.Close() // the client has sent nothing
		complain(err)
		return exitUnavailable
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	a := agent.New(client, agent.Config{
		Token: cfg.token, MaxSessions: cfg.MaxSessions, MaxLocks: cfg.MaxLocks, MaxWaiters: cfg.MaxWaiters, Log: logs, Metrics: metrics,
	})
	failed := make(chan error, 2)
	serve := func(handler http.Handler, l net.Listener) *http.Server {
		server := &http.Server{
			Handler: handler, ReadHeaderTimeout: slowHeader, IdleTimeout: idle, MaxHeaderBytes: maxHeader,
			ErrorLog: slog.NewLogLogger(logs.Handler(), slog.LevelWarn),
		}
		go func() { failed <- server.Serve(l) }()
		return server
	}
	server := serve(a, listener)
	if probed != nil {
		defer serve(a.Probes(), probed).Close()
		logs.Info("agent serves metrics", "address", probed.Addr().String())
	}
	logs.Info("agent serves", "address", listener.Addr().String())
	select {
	case err := <-failed:
		complain(fmt.Errorf("cannot serve: %w", err))
		return exitUnavailable // the locks are left to expire, because programs still count on them
	case s := <-signals:
		logs.Info("agent drains", "signal", s.String(), "for", cfg.Drain)
	}
	left := cfg.drain(a, signals)
	_ = listener.Close() // new connections wait for the next agent, if systemd has the socket
	if left > 0 {
		logs.Warn("agent ends, and leaves locks to expire", "sessions", left)
		return exitHeld
	}
	a.Close()
	last, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	_ = server.Shutdown(last) // sends the answers under way
	_ = client.Close()        // Close can only report a connection that was already broken
	logs.Info("agent ends")
	return exitOK
}

// withUnit logs a duration as "25s" instead of a number of nanoseconds.
func withUnit(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// drain waits until all sessions have ended, the time of --drain has passed, or another signal has come. It returns
// the number of sessions that still hold locks.
func (cfg *agentConfig) drain(a *agent.Agent, signals <-chan os.Signal) (left int) {
	ctx, cancel := context.WithTimeout(context.Background(), cfg.Drain+lastWords)
	defer cancel()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	if cfg.Drain == 0 {
		cancel()
	}
	return a.Drain(ctx, cfg.Drain)
}

// listen listens on systemd's socket, on a Unix socket of its own, or on TCP with TLS.
func (cfg *agentConfig) listen() (net.Listener, error) {
	switch {
	case socketActivated():
		return handedOver()
	case cfg.TCP == "":
		return listenUnix(cfg.Socket)
	}
	certificate := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { // reads the files each time: they may be renewed
		cert, err := tls.LoadX509KeyPair(cfg.ServerCert, cfg.ServerKey)
		if err != nil {
			return nil, fmt.Errorf("--server-cert is %s, --server-key is %s: %w", cfg.ServerCert, cfg.ServerKey, err)
		}
		return &cert, nil
	}
	if _, err := certificate(nil); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", cfg.TCP)
	if err != nil {
		return nil, fmt.Errorf("--tcp is %s: %w", cfg.TCP, err)
	}
	return tls.NewListener(l, &tls.Config{GetCertificate: certificate, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), nil
}

// socketActivated reports whether systemd passed a socket to this process.
func socketActivated() bool {
	return os.Getenv("LISTEN_PID") == strconv.Itoa(os.Getpid()) && os.Getenv("LISTEN_FDS") != ""
}

// handedOver returns the socket that systemd passed. The socket's file is not removed, because it belongs to systemd.
func handedOver() (net.Listener, error) {
	if n := os.Getenv("LISTEN_FDS"); n != "1" {
		return nil, fmt.Errorf("LISTEN_FDS is %s: systemd must hand over one socket", n)
	}
	l, err := net.FileListener(os.NewFile(firstFD, "systemd"))
	if err != nil {
		return nil, fmt.Errorf("the socket of systemd: %w", err)
	}
	if _, is := l.(*net.UnixListener); !is {
		return nil, fmt.Errorf("the socket of systemd is %s: it must be a Unix socket (ListenStream= with a path); for TCP there is --tcp, with TLS", l.Addr().Network())
	}
	return l, nil
}

// listenUnix makes the socket and its folder. Only this user may open the socket. A socket that an earlier agent
// left behind is removed. If a process still accepts connections on this old socket, listenUnix fails.
func listenUnix(file string) (net.Listener, error) {
	if info, err := os.Lstat(file); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("--socket is %s: it is there, and is no socket", file)
		}
		conn, err := net.Dial("unix", file)
		if err == nil {
			_ = conn.Close() // the dial only had to show that a process accepts
			return nil, fmt.Errorf("--socket is %s: another agent answers there", file)
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("--socket is %s: %w", file, err)
		}
		if err := os.Remove(file); err != nil {
			return nil, fmt.Errorf("--socket is %s: %w", file, err)
		}
	}
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("--socket is %s: %w", file, err)
	}
	before := syscall.Umask(0o177) // applies to the whole process, which makes no other file now
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: file, Net: "unix"})
	syscall.Umask(before)
	if err != nil {
		return nil, fmt.Errorf("--socket is %s: %w", file, err)
	}
	l.SetUnlinkOnClose(false) // otherwise Close would remove whatever file is at the path then
	made, err := os.Lstat(file)
	if err != nil {
		_ = l.Close() // its file is gone
		return nil, fmt.Errorf("--socket is %s: %w", file, err)
	}
	return &ownSocket{UnixListener: l, file: file, made: made}, nil
}

// ownSocket removes its file on Close, unless the path has a newer socket. Such a socket may belong to systemd, or
// to an agent that was started after somebody removed the file.
type ownSocket struct {
	*net.UnixListener
	file   string
	made   os.FileInfo
	remove sync.Once
}

// Close removes the file first. While the socket is open, no other file gets its inode, so SameFile finds only our
// file.
func (s *ownSocket) Close() error {
	s.remove.Do(func() {
		if now, err := os.Lstat(s.file); err == nil && os.SameFile(now, s.made) {
			_ = os.Remove(s.file) // on failure the next agent removes it
		}
	})
	return s.UnixListener.Close()
}
