package master

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

const (
	// maxDials is the highest number of dials within a second. A client that starts with a far master
	// needs about half of these at once.
	maxDials = 20

	// freeDials is how many dials in a row may be useless before dials pause. A client whose
	// connections broke needs a new connection of each kind at once.
	freeDials = 4
)

// door dials all connections to a master: for requests, for commands past the queue and for
// subscriptions. So all connections share one pause between dials, and can be closed together. The
// connections of a failover client have no door.
type door struct {
	mu      sync.Mutex
	paces   bool                // false: dials never pause
	useless int                 // number of dials since a connection was of use
	pause   time.Duration       // after the last dial
	opens   time.Time           // when the next dial is allowed
	dialled [maxDials]time.Time // times of the last dials
	next    int                 // the index of the oldest time in dialled
	why     error               // why the last connection was useless; nil: it was of use
	conns   map[*boundedConn]struct{}
	longest time.Duration // the longest time for a read; 0: only the limit of go-redis holds
}

// pace turns on the pauses between dials.
func (d *door) pace() {
	if d != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.paces = true
	}
}

// dial calls the given function to make a connection. If it is too early for a dial, it returns a
// *pausedError.
func (d *door) dial(ctx context.Context, network, addr string, dial func(context.Context, string, string) (net.Conn, error)) (net.Conn, error) {
	if err := d.enter(time.Now()); err != nil {
		return nil, err
	}
	conn, err := dial(ctx, network, addr)
	if err != nil {
		return nil, &dialError{err}
	}
	discardOnClose(conn)
	closeWith(ctx, conn)
	return d.keep(conn), nil
}

// enter records a dial, or returns why no dial is allowed now.
func (d *door) enter(now time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	oldest := &d.dialled[d.next]
	switch {
	case !d.paces:
		return nil
	case now.Before(d.opens) && d.why != nil:
		return &pausedError{d.why}
	case now.Sub(*oldest) < time.Second:
		return &pausedError{errManyDials}
	}
	*oldest, d.next = now, (d.next+1)%maxDials
	if d.useless++; d.useless > freeDials {
		d.pause = min(max(2*d.pause, MinRetry), MaxRetry)
		d.opens = now.Add(d.pause - rand.N(d.pause/4)) // clients that failed together do not come back together
	}
	return nil
}

var errManyDials = errors.New("not tried: connections to it broke again and again")

// used records the error of a call that may have dialled, and returns it. A *pausedError is not
// recorded: its reason is returned.
func (d *door) used(err error) error {
	if paused, is := errors.AsType[*pausedError](err); is {
		return paused.why
	}
	if d != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.why = err; err == nil {
			d.useless, d.pause, d.opens = 0, 0, time.Time{}
		}
	}
	return err
}

// keep wraps conn in a boundedConn, which is registered until it is closed.
func (d *door) keep(conn net.Conn) net.Conn {
	b := &boundedConn{Conn: conn, door: d, made: time.Now()}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conns == nil {
		d.conns = map[*boundedConn]struct{}{}
	}
	d.conns[b] = struct{}{}
	return b.idleSeen()
}

func (d *door) forget(b *boundedConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.conns, b)
}

// leave closes all connections that were made before the given time.
func (d *door) leave(then time.Time, why error) {
	if d == nil {
		return
	}
	d.mu.Lock()
	var old []*boundedConn
	for b := range d.conns {
		if b.made.Before(then) {
			old = append(old, b)
		}
	}
	d.mu.Unlock()
	for _, b := range old {
		b.leave(why)
	}
}

// hurry limits the duration of all reads from now on, including the reads under way.
func (d *door) hurry(longest time.Duration) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.longest = longest
	for b := range d.conns {
		_ = b.Conn.SetReadDeadline(d.soonest(b.readUntil)) // it fails only on a closed connection
	}
}

// soonest returns the end of a read: the time in until, or earlier if hurry was called. The caller holds mu.
func (d *door) soonest(until time.Time) time.Time {
	if latest := time.Now().Add(d.longest); d.longest > 0 && (until.IsZero() || until.After(latest)) {
		return latest
	}
	return until
}

// pausedError means that it is too early to dial again. why is the last failure, or errManyDials. pausedError has no
// Unwrap: with one, go-redis would treat a server's refusal in why as the reply to a command.
type pausedError struct{ why error }

func (e *pausedError) Error() string { return e.why.Error() }
