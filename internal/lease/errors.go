package lease

import (
	"errors"

	"github.com/redlock-go/redlock/internal/quorum"
)

// The reasons for which a hold is over.
var (
	ErrReleased = errors.New("redlock: already released")
	ErrExpired  = errors.New("redlock: lease expired")
	ErrLost     = quorum.ErrLost
)

// The reasons for which a hold is not re-entered, or not downgraded.
var (
	ErrUpgrade = errors.New("redlock: a lock that is held for reading cannot be locked for writing: unlock it first")
	ErrReentry = errors.New("redlock: the context carries this lock already, and WithoutReentry forbids re-entry")
	ErrWriters = errors.New("redlock: other handles of the hold are for writing: unlock them first")
)
