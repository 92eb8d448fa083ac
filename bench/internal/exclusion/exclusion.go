// Package exclusion checks, while a contended lock is measured, that it has one holder at a time
// and that fencing tokens grow. The state is a page of atomic words in a file that several
// processes map, so that the check sees them all and costs some nanoseconds.
package exclusion

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/redlock-go/redlock/bench/internal/clock"
)

// ErrViolated is returned when a lock was none.
var ErrViolated = errors.New("VIOLATION")

// state is the shared page.
type state struct {
	holder  atomic.Int64  // who holds the lock; 0: nobody
	token   atomic.Uint64 // of the latest holder that had one
	left    atomic.Int64  // when the latest holder left, on clock.Now; 0: none has
	overlap atomic.Int64  // times that somebody entered while another was in
	disrupt atomic.Int64  // times that somebody left and was not the one who was in
	order   atomic.Int64  // times that a token was not above the one before
}

// Check is the view of one process. Its methods may be called from several goroutines.
type Check struct {
	page  []byte
	state *state
}

// Open maps the file, which is made when missing: an empty one is a lock that nobody held yet. The
// caller must call Close.
func Open(path string) (*Check, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(int64(os.Getpagesize())); err != nil {
		return nil, err
	}
	page, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap %s: %w", path, err)
	}
	return &Check{page: page, state: (*state)(unsafe.Pointer(&page[0]))}, nil
}

// Close unmaps the file.
func (c *Check) Close() error { return unix.Munmap(c.page) }

// Enter notes that id (above 0) holds the lock, with a token unless that is 0. It returns how long
// ago the holder before left; ok is false for the first.
func (c *Check) Enter(id int64, token uint64) (since time.Duration, ok bool) {
	now := clock.Now()
	if c.state.holder.Swap(id) != 0 {
		c.state.overlap.Add(1)
	}
	if token != 0 && c.state.token.Swap(token) >= token {
		c.state.order.Add(1)
	}
	left := c.state.left.Load()
	return time.Duration(now - left), left != 0
}

// Leave notes that id is about to give the lock back. It must be called before the lock is.
func (c *Check) Leave(id int64) {
	if !c.state.holder.CompareAndSwap(id, 0) {
		c.state.disrupt.Add(1)
	}
	c.state.left.Store(clock.Now())
}

// Err tells of what was violated by any process so far.
func (c *Check) Err() error {
	overlap, disrupt, order := c.state.overlap.Load(), c.state.disrupt.Load(), c.state.order.Load()
	if overlap+disrupt+order == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d entered while another held the lock, %d found another in when they left, %d tokens did not grow",
		ErrViolated, overlap, disrupt, order)
}
