package faultproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadReply(t *testing.T) {
	t.Parallel()
	frames := []string{
		"+OK\r\n", "-ERR no\r\n", ":1\r\n", "$3\r\na\r\n\r\n", "$0\r\n\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n",
		"*2\r\n*2\r\n:1\r\n$1\r\nx\r\n*1\r\n*0\r\n",
		// RESP3
		"_\r\n", "#t\r\n", ",1.5\r\n", "(12345678901234567890\r\n", "!5\r\nERR x\r\n", "=7\r\ntxt:abc\r\n",
		"%2\r\n+a\r\n:1\r\n+b\r\n*2\r\n:1\r\n:2\r\n", "~2\r\n:1\r\n:2\r\n", ">2\r\n+message\r\n$2\r\nhi\r\n",
		"|1\r\n+ttl\r\n:3\r\n*1\r\n$1\r\nv\r\n", "%0\r\n",
	}
	stream := strings.Join(frames, "")
	for name, r := range map[string]io.Reader{
		"whole":        strings.NewReader(stream),
		"byte by byte": iotest.OneByteReader(strings.NewReader(stream)),
	} {
		buffered := bufio.NewReader(r)
		for _, want := range frames {
			if got, err := readReply(buffered); string(got) != want || err != nil {
				t.Fatalf("%s: got %q, %v; want %q", name, got, err, want)
			}
		}
		if got, err := readReply(buffered); err != io.EOF {
			t.Errorf("%s: at the end: %q, %v", name, got, err)
		}
	}
	for i := 1; i < len(stream); i++ {
		r := bufio.NewReader(strings.NewReader(stream[:i]))
		var err error
		read := 0
		for err == nil {
			var raw []byte
			raw, err = readReply(r)
			read += len(raw)
		}
		if atEnd := read == i; atEnd != (err == io.EOF) || !atEnd && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d after %d bytes of whole frames: %v", i, read, err)
		}
	}
}

func TestReadRequest(t *testing.T) {
	t.Parallel()
	want := []string{"SET", "k\r\n$1", "", "ü"}
	raw := encode(want...)
	r := bufio.NewReader(iotest.HalfReader(strings.NewReader(raw + "*0\r\n" + raw)))
	for _, want := range [][]string{want, nil, want} {
		raw, args, err := readRequest(r)
		if err != nil || !slices.Equal(args, want) || want != nil && string(raw) != encode(want...) {
			t.Fatalf("got %q as %q, %v; want %q", raw, args, err, want)
		}
	}
	for i := 1; i < len(raw); i++ {
		if _, _, err := readRequest(bufio.NewReader(strings.NewReader(raw[:i]))); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}

func TestReadInvalidRESP(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"PING\r\n", "\r\n\r\n", "*1\n", "*x\r\n", "*-2\r\n", "$9999999999\r\n", "%-1\r\n", "*1\r\nPING\r\n",
	} {
		if raw, err := readReply(bufio.NewReader(strings.NewReader(text))); !errors.Is(err, errProtocol) {
			t.Errorf("as a reply, %q is %q, %v", text, raw, err)
		}
		if raw, _, err := readRequest(bufio.NewReader(strings.NewReader(text))); !errors.Is(err, errProtocol) {
			t.Errorf("as a request, %q is %q, %v", text, raw, err)
		}
	}
	for _, text := range []string{"+PING\r\n", "*1\r\n:1\r\n", "*1\r\n$-1\r\n"} {
		if raw, _, err := readRequest(bufio.NewReader(strings.NewReader(text))); !errors.Is(err, errProtocol) {
			t.Errorf("as a request, %q is %q, %v", text, raw, err)
		}
	}
}

func encode(args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b.String()
}
