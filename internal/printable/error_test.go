package printable_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/printable"
)

func TestErrorsInOneLine(t *testing.T) {
	t.Parallel()
	lost, held := errors.New("redlock: lock lost"), errors.New("redlock: held by another")
	why := fmt.Errorf("job: %w", lost)
	for _, c := range []struct {
		got  error
		want string
		is   []error
	}{
		{printable.Join(), "<nil>", nil},
		{printable.Join(nil, nil), "<nil>", nil},
		{printable.Join(nil, held), "redlock: held by another", []error{held}},
		{printable.Join(held, lost), "redlock: held by another; lock lost", []error{held, lost}},
		{printable.Join(lost, lost), "redlock: lock lost", []error{lost}},
		{printable.Join(lost, why), "job: redlock: lock lost", []error{why, lost}},
		{printable.Join(why, lost), "job: redlock: lock lost", []error{why, lost}},
		{printable.Because(nil, nil), "<nil>", nil},
		{printable.Because(nil, lost), "redlock: lock lost", []error{lost}},
		{printable.Because(lost, nil), "redlock: lock lost", []error{lost}},
		{printable.Because(context.Canceled, held), "context canceled: held by another", []error{context.Canceled, held}},
		{printable.Because(why, lost), "job: redlock: lock lost", []error{why, lost}},
	} {
		if got := fmt.Sprint(c.got); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		for _, err := range c.is {
			if !errors.Is(c.got, err) {
				t.Errorf("%q is not %q", c.got, err)
			}
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		29998 * time.Millisecond:   "30s",
		90600 * time.Millisecond:   "1m31s",
		1234567 * time.Microsecond: "1.2s",
		56789 * time.Microsecond:   "57ms",
		1500:                       "1.5µs",
		0:                          "0s",
	} {
		if got := printable.Duration(d).String(); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
