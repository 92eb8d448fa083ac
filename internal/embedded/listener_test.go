package embedded

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
)

func TestListener(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := Listen("front")
		accepted := make(chan net.Conn, 1)
		go func() {
			conn, err := l.Accept()
			check(t, err)
			accepted <- conn
		}()
		client, err := l.Dial(context.Background())
		check(t, err)
		server := <-accepted

		// What was sent before the end of writing arrives, and the other direction goes on.
		_, err = client.Write([]byte("ask"))
		check(t, err)
		check(t, client.(*end).CloseWrite())
		if got, err := io.ReadAll(server); string(got) != "ask" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		_, err = server.Write([]byte("answer"))
		check(t, err)

		// A reset loses what was not read.
		check(t, server.(*end).SetLinger(0))
		check(t, server.Close())
		if got, err := io.ReadAll(client); len(got) > 0 || !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read %q, %v; want a reset", got, err)
		}

		check(t, l.Close())
		check(t, l.Close())
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accepted: %v", err)
		}
		if _, err := l.Dial(context.Background()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dialed: %v", err)
		}
	})
}
