package httpguard

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/redlock-go/redlock/fence"
)

const problemType = "application/problem+json"

// The types of the problem documents. They are stable: clients may compare them.
const (
	TypeStale       = "https://pkg.go.dev/github.com/redlock-go/redlock/guard/httpguard#TypeStale"       // 409: a newer token has claimed the resource
	TypeMissing     = "https://pkg.go.dev/github.com/redlock-go/redlock/guard/httpguard#TypeMissing"     // 428: the request has no token
	TypeInvalid     = "https://pkg.go.dev/github.com/redlock-go/redlock/guard/httpguard#TypeInvalid"     // 400: the token is malformed, or the request names no resource
	TypeUnavailable = "https://pkg.go.dev/github.com/redlock-go/redlock/guard/httpguard#TypeUnavailable" // 503: the guard failed
)

// problem is a problem document of RFC 9457.
type problem struct {
	Type     string      `json:"type"`
	Title    string      `json:"title"`
	Status   int         `json:"status"`
	Detail   string      `json:"detail,omitempty"`
	Resource string      `json:"resource,omitempty"`
	Token    fence.Token `json:"token,omitempty"`
	Highest  fence.Token `json:"highest,omitempty"`
}

var (
	missing = problem{
		Type:   TypeMissing,
		Title:  "Fencing token required",
		Status: http.StatusPreconditionRequired,
		Detail: "send the token of your lock in the header " + Header,
	}
	unavailable = problem{
		Type:   TypeUnavailable,
		Title:  "Fence unavailable",
		Status: http.StatusServiceUnavailable,
		Detail: "the token could not be checked, so the request was not run",
	}
)

func invalid(format string, args ...any) problem {
	return problem{
		Type:   TypeInvalid,
		Title:  "Invalid fencing token or resource",
		Status: http.StatusBadRequest,
		Detail: fmt.Sprintf(format, args...),
	}
}

// WriteStale sends the answer that the middleware sends for a stale token: status 409 and a problem document with both
// tokens. It is for handlers whose store has refused a write with a *fence.StaleError.
func WriteStale(w http.ResponseWriter, stale *fence.StaleError) {
	problem{
		Type:     TypeStale,
		Title:    "Stale fencing token",
		Status:   http.StatusConflict,
		Detail:   stale.Error(),
		Resource: stale.Resource,
		Token:    stale.Token,
		Highest:  stale.Highest,
	}.write(w)
}

func (p problem) write(w http.ResponseWriter) {
	// Marshalling cannot fail: the tokens that are not omitted are valid.
	body, _ := json.Marshal(p)
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // fails if the client has gone
}
