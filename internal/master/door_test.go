package master

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// There are at most 20 dials a second. The pause after useless connections is so short that a client soon detects
// a master that comes back.
func TestDialsArePaced(t *testing.T) {
	t.Parallel()
	errAway := errors.New("away")
	for name, c := range map[string]struct {
		becomes func(n int) error // the result of the n-th dial
		least   int               // the lowest number of dials in ten seconds
	}{
		"refused":         {func(int) error { return errAway }, 95},
		"of use":          {func(int) error { return nil }, 190},
		"now and then":    {func(n int) error { return []error{nil, errAway}[n%2] }, 190},
		"seldom":          {func(n int) error { return []error{nil, errAway, errAway, errAway, errAway, errAway, errAway}[n%7] }, 120},
		"after some time": {func(n int) error { return []error{errAway, nil}[min(n/30, 1)] }, 150},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := new(door)
			d.pace()
			var dials []time.Time
			last := error(nil)
			for now, end := time.Unix(1, 0), time.Unix(11, 0); now.Before(end); now = now.Add(time.Millisecond) {
				err := d.enter(now)
				if paused, is := errors.AsType[*pausedError](err); is {
					if last != nil && paused.why != last && paused.why != errManyDials {
						t.Fatalf("it returns %v, want %v", err, last)
					}
					if used := d.used(err); used != paused.why {
						t.Fatalf("it becomes %v, want %v", used, paused.why)
					}
					continue
				}
				last = c.becomes(len(dials))
				_ = d.used(last)
				dials = append(dials, now)
				if n := len(dials); n > 20 && now.Sub(dials[n-21]) < time.Second {
					t.Fatalf("21 dials within %v", now.Sub(dials[n-21]))
				}
			}
			if len(dials) < c.least {
				t.Errorf("%d dials in ten seconds, want %d at least", len(dials), c.least)
			}
		})
	}
}

// Old connections to an unusable server are closed, and their reader gets the reason.
func TestOldConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	d, now := new(door), time.Now()
	var conns [2]*boundedConn
	for i, made := range []time.Time{now.Add(-time.Hour), now} {
		near, far := net.Pipe()
		defer far.Close()
		conns[i] = d.keep(near).(*boundedConn)
		conns[i].made = made
		defer conns[i].Close()
	}
	why := errors.New("it is a replica")
	read := make(chan error)
	go func() {
		_, err := conns[0].Read(make([]byte, 1))
		read <- err
	}()
	d.leave(now.Add(-time.Minute), why)
	if err := <-read; err == nil || err.Error() != "the connection was closed: it is a replica" {
		t.Errorf("the one that is left reads %v", err)
	}
	if conns[1].left.Load() != nil {
		t.Error("the new one is left too")
	}
	for _, c := range conns {
		_ = c.Close()
	}
	if len(d.conns) != 0 {
		t.Errorf("%d connections are known when all are closed", len(d.conns))
	}
}

// The error of a paused dial must not be taken for a server's reply, because go-redis keeps a connection after an
// error reply.
func TestDialPauseIsNotReply(t *testing.T) {
	t.Parallel()
	d := new(door)
	d.pace()
	refusal := replyError("WRONGPASS no")
	for range freeDials + 1 {
		must(t, d.enter(time.Now()))
		_ = d.used(refusal)
	}
	_, err := d.dial(context.Background(), "tcp", "", nil)
	if err == nil || IsReply(err) || !IsReply(d.used(err)) {
		t.Errorf("%v: a reply: %v, and when it is returned: %v", err, IsReply(err), IsReply(d.used(err)))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
