package master

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// maxReply is the largest size of a reply, in bytes. The replies with all counters have some 100 kB.
	maxReply = 1 << 20

	// maxElements is the highest number of values in a reply, in all its arrays together.
	maxElements = 1 << 16
)

// withRecover calls a function in which go-redis reads replies. go-redis panics on some replies: for
// example on a message without a channel, or on a giant message, because a failover client's connection
// does not limit the size of replies. withRecover returns the panic as an error, which breaks the connection.
func withRecover(call func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = &ProtocolError{fmt.Sprintf("one that go-redis panics on: %v", fault)}
		}
	}()
	return call()
}

// boundedConn is a connection that refuses giant replies. go-redis itself reserves memory for any
// announced length, and panics when the length is absurd.
type boundedConn struct {
	net.Conn
	door    *door
	made    time.Time
	replies replyGauge
	broken  error
	left    atomic.Pointer[leftError]

	readUntil time.Time // guarded by the door's mu
}

// idleSeen returns c. If the connection is a syscall.Conn, so is the result: then go-redis can detect that a connection
// was closed while it was idle.
func (c *boundedConn) idleSeen() net.Conn {
	if socket, ok := c.Conn.(syscall.Conn); ok {
		return struct {
			*boundedConn
			syscall.Conn
		}{c, socket}
	}
	return c
}

func (c *boundedConn) Read(p []byte) (int, error) {
	if c.broken != nil {
		return 0, c.broken
	}
	n, err := c.Conn.Read(p)
	if fine, bad := c.replies.take(p[:n]); bad != nil {
		c.broken = bad
		return fine, bad
	}
	return n, c.explained(err)
}

// SetReadDeadline sets the end of a read, unless the door ends it earlier.
func (c *boundedConn) SetReadDeadline(t time.Time) error {
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	c.readUntil = t
	return c.Conn.SetReadDeadline(c.door.soonest(t))
}

func (c *boundedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil && !isTimeout(err) {
		c.readLast()
	}
	return n, c.explained(err)
}

// readLast reads the last message of a server that has hung up, if this message was not read before. The
// read ends at once, because the connection is broken.
func (c *boundedConn) readLast() {
	if c.SetReadDeadline(time.Now().Add(MaxRetry)) != nil {
		return
	}
	var last [1024]byte
	n, _ := c.Conn.Read(last[:])
	if _, bad := c.replies.take(last[:n]); bad != nil {
		c.broken = bad
	}
}

// explained returns err, the error of a connection, and adds the reason if it is known. A server that
// hangs up, for example because it has too many clients, first sends the reason. go-redis treats
// this message as the answer to its greeting, and goes on.
func (c *boundedConn) explained(err error) error {
	left := c.left.Load()
	switch {
	case err == nil || isTimeout(err):
		return err
	case left != nil:
		return left
	case c.replies.refusal != "":
		return &hangUpError{c.replies.refusal, err}
	}
	return err
}

// leave closes the connection. The reason in why is returned to the pending call and to later calls.
func (c *boundedConn) leave(why error) {
	c.left.Store(&leftError{why})
	_ = c.Conn.Close() // its pending call fails
}

func (c *boundedConn) Close() error {
	c.door.forget(c)
	if err := c.Conn.Close(); c.left.Load() == nil {
		return err
	}
	return nil
}

// hangUpError has the last message of a server before the connection broke. It has no Unwrap: go-redis unwraps errors
// while it sets up a connection, and would drop the message.
type hangUpError struct {
	last string
	err  error
}

func (e *hangUpError) Error() string {
	return fmt.Sprintf("the server hung up, and its last word was %q (%v)", e.last, e.err)
}

// leftError is the reason why this client closed a connection.
type leftError struct{ why error }

func (e *leftError) Error() string { return "the connection was closed: " + e.why.Error() }

// ProtocolError means that a server sent something that is not a reply, or a giant reply.
type ProtocolError struct{ why string }

func (e *ProtocolError) Error() string { return "the server's reply is " + e.why }

// replyGauge measures a stream of replies, of RESP2 or RESP3. The stream may come in parts of any size.
// The zero value is at the start of a reply.
type replyGauge struct {
	size     int // bytes of this reply so far
	elements int // values that this reply has announced
	left     int // values of this reply that have not ended; 0: at the start of a reply
	body     int // bytes left of the current string
	line     int // bytes of the current line so far
	head     [lineKept]byte
	refusal  string // the first lineKept bytes of the last reply, if that was an error
}

const (
	lineKept   = 160 // bytes of a line that are kept: enough for a server's reason for hanging up
	lengthKept = 24  // the length of the longest line that announces a length
)

// take measures the next bytes of the stream. It checks an announced length before the announced bytes arrive.
// For a bad reply, take returns an error and the number of bytes before the bad part.
func (g *replyGauge) take(p []byte) (fine int, bad error) {
	for fine < len(p) {
		rest := p[fine:]
		n, lineEnds := len(rest), false
		if g.body > 0 {
			n = min(n, g.body)
		} else if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			n, lineEnds = i+1, true
		}
		if g.size += n; g.size > maxReply {
			return fine, errTooLarge
		}
		if g.body > 0 {
			if g.body -= n; g.body == 0 {
				g.end()
			}
		} else {
			if g.line < len(g.head) {
				copy(g.head[g.line:], rest[:n])
			}
			g.line += n
		}
		if lineEnds {
			if bad := g.lineEnds(); bad != nil {
				return fine, bad
			}
		}
		fine += n
	}
	return fine, nil
}

var (
	errTooLarge = &ProtocolError{fmt.Sprintf("above %d bytes or %d values", maxReply, maxElements)}
	errNoReply  = &ProtocolError{"not of the Redis protocol"}
)

// lineEnds handles a line that is complete, and what the line announces.
func (g *replyGauge) lineEnds() error {
	line := g.head[:min(g.line, len(g.head))]
	g.line = 0
	if g.left == 0 {
		g.left, g.refusal = 1, ""
		if line[0] == '-' {
			g.refusal = strings.TrimSpace(string(line[1:]))
		}
	}
	perElement, more := 0, 0
	switch line[0] {
	case '$', '!', '=':
	case '*', '~', '>':
		perElement = 1
	case '%':
		perElement = 2
	case '|': // precedes a reply
		perElement, more = 2, 1
	default:
		g.end()
		return nil
	}
	line = line[:min(len(line), lengthKept)]
	n, err := strconv.Atoi(string(bytes.TrimSuffix(line[1:], []byte("\r\n"))))
	switch {
	case err != nil || n < -1 || line[len(line)-1] != '\n': // cut off
		return errNoReply
	case n > maxReply-g.size-len("\r\n"):
		return errTooLarge
	case perElement == 0 && n >= 0:
		g.body = n + len("\r\n")
		return nil
	}
	announced := max(n, 0)*perElement + more
	if g.elements += announced; g.elements > maxElements {
		return errTooLarge
	}
	g.left += announced
	g.end()
	return nil
}

func (g *replyGauge) end() {
	if g.left--; g.left == 0 {
		g.size, g.elements = 0, 0
	}
}
