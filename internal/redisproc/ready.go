package redisproc

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	// On an idle machine a server is up within 20 ms. The rest is for loading a large AOF under -race on a busy
	// machine.
	startTimeout = 30 * time.Second

	pollInterval = 5 * time.Millisecond
	probeTimeout = 500 * time.Millisecond
)

// answers reports whether the process pid serves commands on port. A PONG alone would not be
// enough: if another test's server has taken the port, that server answers PONG before ours has
// failed.
func answers(port, pid int) bool {
	conn, err := net.DialTimeout("tcp", loopback(port), probeTimeout)
	if err != nil {
		return false
	}
	defer conn.Close()
	if conn.SetDeadline(time.Now().Add(probeTimeout)) != nil {
		return false
	}

	r := bufio.NewReader(conn)
	pong, err := ask(conn, r, "PING")
	switch {
	case err != nil:
		return false
	case strings.HasPrefix(pong, "-NOAUTH"):
		return true // the server serves, but Conf requires a password for further commands
	case pong != "+PONG":
		return false // still loading
	}

	head, err := ask(conn, r, "INFO", "server")
	if err != nil || !strings.HasPrefix(head, "$") {
		return false
	}
	size, err := strconv.Atoi(head[1:])
	if err != nil || size < 0 {
		return false
	}
	info := make([]byte, size)
	if _, err := io.ReadFull(r, info); err != nil {
		return false
	}
	return strings.Contains(string(info), fmt.Sprintf("\r\nprocess_id:%d\r\n", pid))
}

// ask sends one command and returns the first line of the reply.
func ask(w io.Writer, r *bufio.Reader, args ...string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return "", err
	}
	line, err := r.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}
