package printable

// Error returns err with its text made printable; nil stays nil. It is for an error
// with a server's words in it that leaves the library.
func Error(err error) error {
	if err == nil {
		return nil
	}
	return &printableError{err}
}

type printableError struct{ error }

func (e *printableError) Error() string { return Text(e.error.Error()) }
func (e *printableError) Unwrap() error { return e.error }
