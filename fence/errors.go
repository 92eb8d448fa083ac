package fence

import (
	"errors"
	"fmt"
)

// ErrStale is returned when a token is lower than one the guard has seen for
// the same resource: the holder has been overtaken and must stop. The error is
// a *StaleError, which has both tokens.
var ErrStale = errors.New("fence: stale token")

// ErrInvalid is returned for input that no guard takes: an empty resource, the
// zero Token, a text that is not a token, a token too large for the store.
// Trying again with the same input cannot help.
var ErrInvalid = errors.New("fence: invalid input")

var errZero = fmt.Errorf("%w: token is 0: a token is at least 1", ErrInvalid)

// StaleError is the refusal of a stale token. It is ErrStale.
type StaleError struct {
	Resource string // as the caller named it
	Token    Token  // the one refused
	Highest  Token  // the highest one the guard had seen for Resource, above Token
}

// Error names the resource and both tokens.
func (e *StaleError) Error() string {
	return fmt.Sprintf("fence: token %d of %q is stale: %d has been claimed", e.Token, e.Resource, e.Highest)
}

// Is ties the type to ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }
