package printable

import (
	"context"
	"errors"
	"strings"
)

// Error returns err with a printable text, or nil for nil. It is for errors that leave the library and
// contain words of a server.
func Error(err error) error {
	if err == nil {
		return nil
	}
	return &printableError{err}
}

type printableError struct{ error }

func (e *printableError) Error() string { return Text(e.error.Error()) }
func (e *printableError) Unwrap() error { return e.error }

// Join does the same as errors.Join, but the text is one line: "; " separates the errors' texts. Join
// leaves out an error that another error wraps (errors.Is), so that no text is repeated.
func Join(errs ...error) error {
	var all []error
	for i, err := range errs {
		if err != nil && !repeated(errs, i) {
			all = append(all, err)
		}
	}
	return join("; ", all)
}

// repeated reports whether another error wraps errs[i]. Of two equal errors, only the second counts as repeated.
func repeated(errs []error, i int) bool {
	for j, other := range errs {
		if i != j && errors.Is(other, errs[i]) && (j < i || !errors.Is(errs[i], other)) {
			return true
		}
	}
	return false
}

// Because returns an error with both texts: what, ": ", why. If one of them adds nothing, it returns only the other.
func Because(what, why error) error {
	switch {
	case what == nil:
		return why
	case why == nil || errors.Is(what, why):
		return what
	}
	return join(": ", []error{what, why})
}

// Map returns a copy of err in which f has replaced each error that was given to Join or Because. If err
// is from neither, Map returns f(err).
func Map(err error, f func(error) error) error {
	j, ok := err.(*joinedError)
	if !ok {
		return f(err)
	}
	errs := make([]error, len(j.errs))
	for i, err := range j.errs {
		errs[i] = Map(err, f)
	}
	return &joinedError{j.between, errs}
}

// ContextError returns the error of a ctx that has ended, with the cause if this adds something.
func ContextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return Because(err, cause)
}

func join(between string, errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return &joinedError{between, errs}
}

type joinedError struct {
	between string
	errs    []error
}

// prefix is the beginning of the library's own errors. A line needs it only once.
const prefix = "redlock: "

func (e *joinedError) Error() string {
	var b strings.Builder
	b.WriteString(e.errs[0].Error())
	for _, err := range e.errs[1:] {
		b.WriteString(e.between + strings.TrimPrefix(err.Error(), prefix))
	}
	return b.String()
}

func (e *joinedError) Unwrap() []error { return e.errs }
