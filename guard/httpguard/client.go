package httpguard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/redlock-go/redlock/fence"
)

// Transport is an http.RoundTripper that adds the token of the request's context
// (fence.FromContext) in the header Fencing-Token. It does not change a request that has no token
// in its context, or that has the header already.
//
// It adds the token whatever server the request goes to, even after a redirect.
type Transport struct {
	Base http.RoundTripper // sends the requests; http.DefaultTransport if nil
}

// RoundTrip sends a copy of request with the header. It does not change request.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	token, ok := fence.FromContext(request.Context())
	if !ok || len(request.Header.Values(Header)) > 0 {
		return base.RoundTrip(request)
	}
	request = request.Clone(request.Context())
	if request.Header == nil {
		request.Header = make(http.Header)
	}
	request.Header.Set(Header, token.String())
	return base.RoundTrip(request)
}

// problemLimit is how many bytes CheckResponse reads, at most, of an answer that may be a problem
// document. A problem document is far smaller.
const problemLimit = 64 << 10

// CheckResponse returns a *fence.StaleError if response is the refusal of a stale token by the
// middleware or by WriteStale. So a holder can use the same errors.Is as for a local store. The
// resource in the error is the name that the server uses. A token that the answer lacks is zero
// in the error.
//
// It returns nil for every other answer, which need not be a success: check the status as usual. It
// returns another error if the answer breaks off. The body can still be read from its beginning,
// and the caller must close it.
func CheckResponse(response *http.Response) error {
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusConflict || err != nil || media != problemType {
		return nil
	}
	read, err := io.ReadAll(io.LimitReader(response.Body, problemLimit))
	response.Body = &rewound{io.MultiReader(bytes.NewReader(read), response.Body), response.Body}
	if err != nil {
		return fmt.Errorf("httpguard: reading an answer with status 409: %w", err)
	}
	var stale problem
	if json.Unmarshal(read, &stale) != nil || stale.Type != TypeStale {
		return nil
	}
	return &fence.StaleError{Resource: stale.Resource, Token: stale.Token, Highest: stale.Highest}
}

// rewound is a body whose beginning is read a second time.
type rewound struct {
	io.Reader
	io.Closer
}
