package printable

import (
	"context"
	"errors"
	"strings"
)

// Error returns err with its text made printable; nil stays nil. It is for an error with a server's
// words in it that leaves the library.
func Error(err error) error {
	if err == nil {
		return nil
	}
	return &printableError{err}
}

type printableError struct{ error }

func (e *printableError) Error() string { return Text(e.error.Error()) }
func (e *printableError) Unwrap() error { return e.error }

// Join is errors.Join in one line: the texts have "; " between them. An error that another one is
// already (errors.Is) is left out, so that nothing is said twice.
func Join(errs ...error) error {
	var all []error
	for i, err := range errs {
		if err != nil && !said(errs, i) {
			all = append(all, err)
		}
	}
	return join("; ", all)
}

// said reports that another one of the errors is the i-th as well. Of two that are the same the
// first stays.
func said(errs []error, i int) bool {
	for j, other := range errs {
		if i != j && errors.Is(other, errs[i]) && (j < i || !errors.Is(errs[i], other)) {
			return true
		}
	}
	return false
}

// Because returns what happened and why, each of which may be nil, with ": " between them.
func Because(what, why error) error {
	switch {
	case what == nil:
		return why
	case why == nil || errors.Is(what, why):
		return what
	}
	return join(": ", []error{what, why})
}

// Map returns err with f of each error that Join and Because made it of.
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

// ContextError returns why ctx is over: its error, and its cause if that says more.
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

// prefix begins the library's own errors. Once is enough in a line.
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
