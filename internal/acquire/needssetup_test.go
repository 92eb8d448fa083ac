package acquire

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/masterurl"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// notAdmittedFault matches the same errors as the fault of package membership for a stranger.
type notAdmittedFault struct{}

func (notAdmittedFault) Error() string { return "it is none of the members" }

func (notAdmittedFault) Is(target error) bool {
	return target == script.ErrNotMember || target == membership.ErrNotAdmitted
}

type replied string

func (e replied) Error() string { return string(e) }
func (replied) RedisError()     {}

func TestNeedsSetup(t *testing.T) {
	t.Parallel()
	var (
		noAuth    = fmt.Errorf("failed to connect: %w", replied("NOAUTH Authentication required."))
		wrongPass = replied("WRONGPASS invalid username-password pair or user is disabled.")
		noPerm    = replied("NOPERM this user has no permissions to run the 'evalsha' command")
		stranger  = notAdmittedFault{}
		isNew     = fmt.Errorf("%w: it is new, and does not vote yet", script.ErrNotMember)
		distrust  = &masterurl.TLSError{}
		down      = errors.New("connection refused")
		oom       = replied("OOM command not allowed when used memory > 'maxmemory'.")
		noDB      = replied("ERR DB index is out of range")
		busy      = replied("BUSY Redis is busy running a script.")
		text      = errors.New("NOAUTH, says something that is no server")
	)
	for _, c := range []struct {
		what   string
		reason error
		need   int
		votes  []error // nil: granted
		want   bool
	}{
		{"all refuse the password", ask.ErrNoQuorum, 2, []error{noAuth, noAuth, noAuth}, true},
		{"none has the database", ask.ErrNoQuorum, 2, []error{noDB, noDB, noDB}, true},
		{"a quorum does", ask.ErrNoQuorum, 2, []error{nil, wrongPass, wrongPass}, true},
		{"a minority does", ask.ErrNoQuorum, 2, []error{nil, down, wrongPass}, false},
		{"each for another reason", ask.ErrNoQuorum, 3, []error{noAuth, noPerm, stranger, down, nil}, true},
		{"the others are just enough", ask.ErrNoQuorum, 3, []error{noAuth, noPerm, isNew, down, nil}, false},
		{"no trust", ask.ErrNoQuorum, 2, []error{distrust, distrust, nil}, true},
		{"none is admitted", ask.ErrNoQuorum, 2, []error{stranger, stranger, stranger}, true},
		{"too few of the members are given", ask.ErrNoQuorum, 3, []error{nil, nil}, true},
		{"new members", ask.ErrNoQuorum, 2, []error{isNew, isNew, isNew}, false},
		{"all are down", ask.ErrNoQuorum, 2, []error{down, down, down}, false},
		{"out of memory", ask.ErrNoQuorum, 2, []error{oom, oom, oom}, false},
		{"busy", ask.ErrNoQuorum, 2, []error{busy, busy, busy}, false},
		{"no answer in time", ask.ErrNoQuorum, 2, []error{quorum.ErrNoAnswer, quorum.ErrNotAwaited, wrongPass}, false},
		{"another version", ask.ErrNoQuorum, 2, []error{script.ErrVersion, script.ErrVersion, nil}, false},
		{"a text that is no reply", ask.ErrNoQuorum, 2, []error{text, text, text}, false},
		{"it is held", ask.ErrHeld, 2, []error{noAuth, noAuth, nil}, false},
		{"too slow", ErrTooSlow, 2, []error{nil, nil, nil}, false},
	} {
		q := &ask.Failure{Op: ask.OpAcquire, Reason: c.reason, Need: c.need}
		for _, err := range c.votes {
			q.Votes = append(q.Votes, script.Vote{Err: err})
		}
		if got := lasting(errors.Join(ask.ErrNotAcquired, q)); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
		if !lasting(errors.Join(q, ask.ErrNeedsInit)) {
			t.Errorf("%s, and it needs init: not lasting", c.what)
		}
	}
	for _, err := range []error{ask.ErrNotAcquired, ask.ErrHeld, master.ErrClosed, context.Canceled} {
		if lasting(err) {
			t.Errorf("%v is lasting", err)
		}
	}
}
