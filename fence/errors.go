package fence

import (
	"errors"
	"fmt"
)

// ErrStale is returned if a token is lower than one that the guard has seen for the same resource: the
// holder has been overtaken and must stop. The error is a *StaleError, which has both tokens.
var ErrStale = errors.New("fence: stale token")

// ErrInvalid is returned for input that no guard accepts: an empty resource, the zero Token, a text
// that is not a token, a token too large for the store. A retry with the same input fails again.
var ErrInvalid = errors.New("fence: invalid input")

// ErrOtherLockName is returned by CheckLockName: another program, or another version or configuration of this one,
// noted a different lock name for the resource. Further writes to it can refuse valid holders, and let overtaken
// holders pass.
var ErrOtherLockName = errors.New("fence: resource is guarded under another lock name")

var errNoResource = fmt.Errorf("%w: resource is empty: it must name what is guarded", ErrInvalid)

var errZero = fmt.Errorf("%w: token is 0: a token is at least 1", ErrInvalid)

// StaleError is the refusal of a stale token. errors.Is finds ErrStale in it.
type StaleError struct {
	Resource string // as the caller named it
	Token    Token  // the refused one
	Highest  Token  // the highest token that the guard has seen for Resource
}

// Error names the resource and both tokens.
func (e *StaleError) Error() string {
	return fmt.Sprintf("fence: token %d of %q is stale: %d has been claimed", e.Token, e.Resource, e.Highest)
}

// Is reports whether target is ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }
