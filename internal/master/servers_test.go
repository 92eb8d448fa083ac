package master_test

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/rogue"
	"github.com/redlock-go/redlock/internal/script"
)

// rogueServer starts a server that is a member with this register, and returns the server's address. If the
// function in reply returns a text for a command, the server replies this text.
func rogueServer(t *testing.T, register map[string]string, reply func(args []string) string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for in := bufio.NewReader(conn); ; {
					args, err := readCommand(in)
					if err != nil {
						return
					}
					response := reply(args)
					if response == "" {
						response = asMember(register, args)
					}
					if _, err := conn.Write([]byte(response)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// nameOf returns the name of a command, or the name of our script that an EVAL runs.
func nameOf(args []string) string {
	if args[0] == "eval" {
		switch args[1] {
		case script.ReportSource:
			return "report"
		case script.HereSource:
			return "here"
		case script.RightsSource:
			return "rights"
		}
	}
	return args[0]
}

func asMember(register map[string]string, args []string) string {
	switch nameOf(args) {
	case "hello":
		return rogue.NoHello
	case "info":
		return rogue.Bulk("redis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\nrun_id:" + rogue.RunID + "\r\nmaxmemory:0\r\n")
	case "report":
		all := []string{rogue.Bulk(".run"), rogue.Bulk(rogue.RunID)}
		for field, value := range register {
			if field == "run" {
				value = rogue.RunID
			}
			all = append(all, rogue.Bulk(field), rogue.Bulk(value))
		}
		return rogue.Array(all...)
	case "config":
		return rogue.Array(rogue.Bulk(args[2]), rogue.Bulk("yes"))
	case "script":
		sum := sha1.Sum([]byte(args[2]))
		return rogue.Bulk(hex.EncodeToString(sum[:]))
	case "subscribe":
		return rogue.Array(rogue.Bulk("subscribe"), rogue.Bulk(args[1]), ":1\r\n")
	case "rights": // no right is missing
		return rogue.Bulk("")
	}
	return ":0\r\n"
}

func readCommand(in *bufio.Reader) ([]string, error) {
	number := func() (int, error) {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	n, err := number()
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := number()
		if err != nil {
			return nil, err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		args[i] = string(text[:size])
	}
	args[0] = strings.ToLower(args[0])
	return args, nil
}

// Whatever one of three servers replies, the other two decide, and the process goes on.
func TestAbsurdReplies(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	harness.Must(t, d.Reached().Close())
	register, err := d.Raw[2].HGetAll(context.Background(), script.RegisterKey(limits.DefaultPrefix)).Result()
	harness.Must(t, err)
	holder := besides(t, d, rogueServer(t, register, func([]string) string { return "" }))
	t.Cleanup(func() { _ = holder.Close() })
	for _, command := range []string{"evalsha", "eval", "report", "here", "info", "config", "script", "subscribe", "all"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			for what, response := range rogue.Absurd {
				asked := make(chan struct{}, 1)
				addr := rogueServer(t, register, func(args []string) string {
					switch {
					case command == nameOf(args), command == "all":
						select {
						case asked <- struct{}{}:
						default:
						}
						return response
					case (command == "eval" || command == "here") && args[0] == "evalsha":
						return "-NOSCRIPT no\r\n"
					}
					return ""
				})
				name := command + " " + what
				c := besides(t, d, addr)
				if command == "subscribe" || command == "here" || command == "all" { // a caller must wait for a lock
					held := harness.MustTry(t, holder, name)
					_, err := c.Lock(context.Background(), name, redlock.WithWait(time.Millisecond))
					harness.RequireErr(t, err, redlock.ErrNotAcquired)
					harness.Within(t, name, asked)
					harness.Must(t, held.Unlock(context.Background()))
				}
				lock, err := c.Lock(context.Background(), name, redlock.WithWait(harness.Patience))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if command != "subscribe" {
					harness.Within(t, name, asked)
				}
				harness.Must(t, lock.Unlock(context.Background()))
				harness.Must(t, c.Close())
			}
		})
	}
}

// besides returns a client of two of d's masters and one more server.
func besides(t *testing.T, d *harness.Deployment, addr string) *redlock.Client {
	t.Helper()
	var clients []redis.UniversalClient
	for _, at := range []string{d.Raw[0].Options().Addr, d.Raw[1].Options().Addr, addr} {
		one := redis.NewClient(master.ClientOptions(&redis.Options{Addr: at}, d.Request()))
		t.Cleanup(func() { _ = one.Close() })
		clients = append(clients, one)
	}
	c, err := redlock.New(clients, redlock.WithRequestTimeout(d.Request()))
	harness.Must(t, err)
	return c
}

// All connections that the library dials are bounded, including the connections for notices.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 2<<20)
	addr := rogueServer(t, nil, func(args []string) string {
		switch args[0] {
		case "info":
			return rogue.Bulk(large)
		case "subscribe":
			return asMember(nil, args) + rogue.Array(rogue.Bulk("message"), rogue.Bulk(args[1]), rogue.Bulk(large))
		}
		return ""
	})
	c, err := redlock.Open([]string{"redis://" + addr}, redlock.WithRequestTimeout(5*time.Second)) // a busy machine is slow with so much data
	harness.Must(t, err)
	defer func() { harness.Must(t, c.Close()) }()
	m, subscribed := harness.Inside(c).Masters[0], false
	_, err = m.Do(context.Background(), harness.Inside(c).Members.Greeting()...)
	subscribeErr := m.Subscribe(context.Background(), "channel", func() error { subscribed = true; return nil }, func(text string) { t.Errorf("received %d bytes", len(text)) })
	for _, err := range []error{err, subscribeErr} {
		if _, ok := errors.AsType[*master.ProtocolError](err); !ok {
			t.Error(err)
		}
	}
	if !subscribed {
		t.Error("the subscription was not confirmed")
	}
}
