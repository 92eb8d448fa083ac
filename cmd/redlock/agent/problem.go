package agent

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/redlock-go/redlock"
)

// Errors of the agent itself.
var (
	errNoSession    = errors.New("there is no such session: it has ended, or is one of an agent before this one")
	errNoLock       = errors.New("the session has no such lock")
	errWaiting      = errors.New("the lock is still waited for")
	errReused       = errors.New("the session has used this id for another lock: a new lock needs a new id")
	errDraining     = errors.New("the agent is shutting down, and grants no new locks")
	errLimit        = errors.New("a limit of the agent is reached")
	errUnauthorized = errors.New("the request has no token, or another than the agent's")
	errNoCall       = errors.New("there is no such call")
	errGone         = errors.New("the program has gone away before there was an answer")
)

// limited returns errLimit with the limit that is reached, and with rule, the advice to the program.
func limited(what string, most int, rule string) error {
	return fmt.Errorf("%w: %d %s at a time: %s", errLimit, most, what, rule)
}

func badRequest(field string, value any, rule string) error {
	return &redlock.OptionError{Field: field, Value: value, Rule: rule}
}

// kind is a type of problem.
type kind struct {
	is        error
	word      string // the end of Type
	status    int
	retryable bool // the same request may succeed later without a repair
}

// ownKinds lists the errors of the agent itself.
var ownKinds = []kind{
	{errUnauthorized, "unauthorized", http.StatusUnauthorized, false},
	{errNoCall, "no-call", http.StatusNotFound, false},
	{errNoSession, "no-session", http.StatusNotFound, false},
	{errNoLock, "no-lock", http.StatusNotFound, false},
	{errWaiting, "waiting", http.StatusConflict, true},
	{errReused, "id-reused", http.StatusConflict, false},
	{errLimit, "limit", http.StatusTooManyRequests, true},
	{errDraining, "draining", http.StatusServiceUnavailable, true},
	{errGone, "gone", http.StatusRequestTimeout, true},
}

// libraryKinds lists the errors of the library. If an error matches several, the first in the list counts. So the
// reasons why a lock was not acquired are listed before ErrNotAcquired.
var libraryKinds = []kind{
	{redlock.ErrBadOption, "bad-option", http.StatusBadRequest, false},
	{redlock.ErrUpgrade, "upgrade", http.StatusConflict, false},
	{redlock.ErrReentry, "reentry", http.StatusConflict, false},
	{redlock.ErrWriters, "writers", http.StatusConflict, false},
	{redlock.ErrLost, "lost", http.StatusGone, false},
	{redlock.ErrExpired, "expired", http.StatusGone, false},
	{redlock.ErrReleased, "released", http.StatusGone, false},
	{redlock.ErrNeedsInit, "needs-init", http.StatusServiceUnavailable, false},
	{redlock.ErrHeld, "held", http.StatusConflict, true},
	{redlock.ErrTooSlow, "too-slow", http.StatusServiceUnavailable, true},
	{redlock.ErrDenied, "denied", http.StatusServiceUnavailable, false},
	{redlock.ErrNeedsSetup, "needs-setup", http.StatusServiceUnavailable, false},
	{redlock.ErrNoQuorum, "no-quorum", http.StatusServiceUnavailable, true},
	{redlock.ErrNotMember, "not-member", http.StatusServiceUnavailable, false},
	{redlock.ErrClosed, "closed", http.StatusServiceUnavailable, true},
	{redlock.ErrNotAcquired, "not-acquired", http.StatusServiceUnavailable, true},
}

// kinds lists all types except internal, in the order of the search.
var kinds = append(ownKinds, libraryKinds...)

// internal is the kind of all other errors.
var internal = kind{nil, "internal", http.StatusInternalServerError, false}

// typePrefix is the beginning of each Type: the page that describes the types.
const typePrefix = "https://github.com/redlock-go/redlock/blob/main/docs/AGENT.md#"

// problem is a problem of RFC 9457.
type problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Retryable bool   `json:"retryable"`

	FreeIn int64 `json:"free_in_ms,omitzero"` // of "held": the time until the name may be free, if nobody renews or releases it; 0: not known
}

// denied reports whether the masters that do not deny a right are no quorum. If they are a quorum, the same request may
// succeed later.
func denied(err error) bool {
	q, is := errors.AsType[*redlock.QuorumError](err)
	others := 0
	if is {
		for _, v := range q.Votes {
			if !errors.Is(v.Err, redlock.ErrDenied) {
				others++
			}
		}
	}
	return !is || others < q.Need
}

func problemOf(err error) problem {
	k := internal
	for _, one := range kinds {
		if errors.Is(err, one.is) && (one.is != redlock.ErrDenied || denied(err)) {
			k = one
			break
		}
	}
	p := problem{Type: typePrefix + k.word, Title: k.word, Status: k.status, Detail: err.Error(), Retryable: k.retryable}
	if q, is := errors.AsType[*redlock.QuorumError](err); is {
		p.FreeIn = q.FreeIn.Milliseconds()
	}
	return p
}
