package embedded

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
)

// conn is a client's connection, seen from the master.
type conn struct {
	run      *run
	wire     net.Conn // writes to it never wait
	in       *bufio.Reader
	out      []byte // kept for the next reply
	id       int64
	channels []string // that it has subscribed to, in this order
	leaving  bool     // the reply to the command under way is the last
}

// serve runs what comes until the connection or the run ends.
func (c *conn) serve() {
	defer c.hangUp()
	for {
		words, err := readCommand(c.in)
		if err != nil {
			return
		}
		if len(words) > 0 && !c.handle(words[0], words[1:]) {
			return
		}
	}
}

func (c *conn) hangUp() {
	_ = c.wire.Close() // never fails
	s := c.run.data
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(c.channels) > 0 {
		c.leave(c.channels[0])
	}
}

// handle runs one command and sends the reply. It returns false when the connection is to end.
func (c *conn) handle(name string, args []string) bool {
	r := c.run
	cmd, said := commandOf(name), reply{}
	switch {
	case cmd == nil:
		said = unknownCommand(name, args)
	case !cmd.takes(len(args)):
		said = wrongNumber(cmd.name)
	}
	bad := said.kind == failure
	kill := !bad && cmd.name == "SCRIPT" && strings.EqualFold(args[0], "KILL")
	isBusy, alive := r.gate.pass(!bad && !cmd.anyTime && !kill)
	r.data.mu.Lock()
	defer r.data.mu.Unlock()
	switch {
	case !alive || r.gate.isShut():
		return false
	case bad:
	case isBusy:
		said = errBusy
	case kill && r.gate.setBusy(false):
		said = ok
	default:
		r.readClock()
		said = c.do(cmd, args)
	}
	if r.gate.isShut() { // a dead process answers nothing
		return false
	}
	c.send(said)
	return !c.leaving
}

// do runs a command.
func (c *conn) do(cmd *command, args []string) reply {
	r := c.run
	switch {
	case len(c.channels) > 0 && cmd.name == "PING":
		return texts([]string{"pong", strings.Join(args, "")})
	case len(c.channels) > 0 && cmd.name != "SUBSCRIBE" && cmd.name != "UNSUBSCRIBE" && cmd.name != "QUIT":
		return failed("ERR Can't execute '" + strings.ToLower(cmd.name) +
			"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
	case cmd.writes && r.follows != nil:
		return errReadOnly
	case cmd.grows && r.full():
		return errOutOfMemory
	case cmd.conn != nil:
		return cmd.conn(c, args)
	}
	return r.do(cmd, args)
}

func (c *conn) send(r reply) {
	c.out = r.appendTo(c.out[:0])
	_, _ = c.wire.Write(c.out) // it may be closed by now
}

var errProtocol = errors.New("protocol error")

// readCommand reads an array of bulk strings.
func readCommand(in *bufio.Reader) ([]string, error) {
	n, err := readLength(in, '*')
	if err != nil || n < 0 {
		return nil, err
	}
	words := make([]string, 0, min(n, 1024))
	for range n {
		size, err := readLength(in, '$')
		if err != nil {
			return nil, err
		}
		if size < 0 {
			return nil, errProtocol
		}
		word, err := readWord(in, size)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
	}
	return words, nil
}

// maxLength keeps lengths from running over.
const maxLength = 1 << 26

// readLength reads a line that is a length behind a mark.
func readLength(in *bufio.Reader, mark byte) (int, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 4 || line[0] != mark || line[len(line)-2] != '\r' {
		return 0, errProtocol
	}
	n, digits := 0, line[1:len(line)-2]
	if string(digits) == "-1" {
		return -1, nil
	}
	for _, d := range digits {
		if d < '0' || d > '9' || n > maxLength {
			return 0, errProtocol
		}
		n = 10*n + int(d-'0')
	}
	return n, nil
}

// readWord reads so many bytes, and the end of the line behind them.
func readWord(in *bufio.Reader, size int) (string, error) {
	if whole, err := in.Peek(size + 2); err == nil {
		word := string(whole[:size])
		_, err = in.Discard(size + 2)
		return word, err
	} else if !errors.Is(err, bufio.ErrBufferFull) {
		return "", err
	}
	whole := make([]byte, size+2)
	_, err := io.ReadFull(in, whole)
	return string(whole[:size]), err
}
