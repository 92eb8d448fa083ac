package embedded

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestPipeDeliversWhatWasWrittenBeforeClose(t *testing.T) {
	t.Parallel()
	client, server := newPipe("m")
	for _, text := range []string{"one ", "two"} {
		_, err := client.Write([]byte(text)) // without a reader it must not block
		check(t, err)
	}
	check(t, client.Close())
	got, err := io.ReadAll(server)
	if string(got) != "one two" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}

	if n, err := server.Write([]byte("x")); n != 1 || err != nil {
		t.Errorf("write to a closed peer: %d, %v", n, err)
	}
	if _, err := client.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write after Close: %v", err)
	}
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read after Close: %v", err)
	}
}

func TestPipeDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, server := newPipe("m")
		begin := time.Now()
		read := func() (time.Duration, error) {
			_, err := client.Read(make([]byte, 1))
			return time.Since(begin), err
		}

		check(t, client.SetDeadline(begin.Add(time.Second)))
		after, err := read()
		if after != time.Second || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a read ended after %s with %v", after, err)
		}
		var netErr net.Error
		if !errors.As(err, &netErr) || !netErr.Timeout() {
			t.Errorf("%v is no timeout for net.Error", err)
		}

		// A deadline that changes, or a peer that closes, reaches a read that waits already.
		check(t, client.SetReadDeadline(time.Time{}))
		go func() {
			time.Sleep(time.Second)
			_ = client.SetReadDeadline(time.Now().Add(time.Second))
		}()
		if after, err := read(); after != 3*time.Second || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a read whose deadline was moved ended after %s with %v", after, err)
		}
		check(t, client.SetReadDeadline(time.Time{}))
		go func() {
			time.Sleep(time.Second)
			_ = server.Close()
		}()
		if after, err := read(); after != 4*time.Second || !errors.Is(err, io.EOF) {
			t.Errorf("a read whose peer closed ended after %s with %v", after, err)
		}
	})
}
