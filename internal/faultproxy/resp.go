package faultproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

var errProtocol = errors.New("faultproxy: not RESP")

// maxLength is Redis's limit of a bulk string; a larger number counts as a broken stream.
const maxLength = 512 << 20

// readRequest reads one array of bulk strings and returns its bytes and its decoded arguments.
func readRequest(r *bufio.Reader) (raw []byte, args []string, err error) {
	kind, n, raw, err := readHead(r, nil)
	if err != nil {
		return nil, nil, err
	}
	if kind != '*' {
		return nil, nil, fmt.Errorf("%w: a request begins with %q", errProtocol, kind)
	}
	for range n {
		kind, size, head, err := readHead(r, raw)
		if err != nil {
			return nil, nil, inside(err)
		}
		if kind != '$' || size < 0 {
			return nil, nil, fmt.Errorf("%w: an argument begins with %q", errProtocol, kind)
		}
		if raw, err = readBody(r, head, size); err != nil {
			return nil, nil, err
		}
		args = append(args, string(raw[len(head):len(raw)-2]))
	}
	return raw, args, nil
}

// readReply reads one reply of RESP2 or RESP3, with all nested replies, and returns its
// bytes. The first byte is the type.
func readReply(r *bufio.Reader) (raw []byte, err error) {
	for left := 1; left > 0; left-- {
		kind, n, head, err := readHead(r, raw)
		if err != nil {
			if len(raw) > 0 {
				err = inside(err)
			}
			return nil, err
		}
		raw = head
		switch kind {
		case '$', '!', '=':
			if n >= 0 {
				if raw, err = readBody(r, raw, n); err != nil {
					return nil, err
				}
			}
		case '*', '~', '>':
			left += max(n, 0)
		case '%':
			left += 2 * n
		case '|': // attributes, which precede the reply itself
			left += 2*n + 1
		}
	}
	return raw, nil
}

// readHead reads one line, appends it to raw and returns its type and its number, if the type has
// one.
func readHead(r *bufio.Reader, raw []byte) (kind byte, n int, _ []byte, err error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		if len(line) > 0 {
			err = inside(err)
		}
		return 0, 0, nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return 0, 0, nil, fmt.Errorf("%w: line %q", errProtocol, line)
	}
	kind = line[0]
	switch kind {
	case '+', '-', ':', '_', ',', '#', '(':
	case '$', '!', '=', '*', '~', '>', '%', '|':
		n, err = strconv.Atoi(string(line[1 : len(line)-2]))
		if err != nil || n < -1 || n > maxLength || n < 0 && (kind == '%' || kind == '|') {
			return 0, 0, nil, fmt.Errorf("%w: line %q", errProtocol, line)
		}
	default:
		return 0, 0, nil, fmt.Errorf("%w: line %q", errProtocol, line)
	}
	return kind, n, append(raw, line...), nil
}

// readBody reads size bytes and the end of the line, and appends them to raw.
func readBody(r *bufio.Reader, raw []byte, size int) ([]byte, error) {
	from := len(raw)
	raw = append(raw, make([]byte, size+2)...)
	if _, err := io.ReadFull(r, raw[from:]); err != nil {
		return nil, inside(err)
	}
	return raw, nil
}

// inside returns io.ErrUnexpectedEOF for an io.EOF in the middle of a message.
func inside(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
