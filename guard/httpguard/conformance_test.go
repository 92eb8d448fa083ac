package httpguard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"sync"
	"testing"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/guardtest"
	"github.com/redlock-go/redlock/guard/httpguard"
)

// With Exclusive the handlers write to a store without tokens.
func TestExclusiveConformance(t *testing.T) {
	t.Parallel()
	var values sync.Map
	guardtest.Run(t, serve(t, &values, httpguard.Exclusive(new(fence.Memory), resourceOf),
		func(r *http.Request, write func() error) error {
			if token, _ := fence.FromContext(r.Context()); token.String() != r.Header.Get(httpguard.Header) {
				t.Errorf("the handler finds token %v", token)
			}
			return write()
		}))
}

// With ClaimFirst the handlers write through the store's guard, with the token of their context.
func TestClaimFirstConformance(t *testing.T) {
	t.Parallel()
	var values sync.Map
	var store fence.Memory
	guardtest.Run(t, serve(t, &values, httpguard.ClaimFirst(&store, resourceOf),
		func(r *http.Request, write func() error) error {
			token, _ := fence.FromContext(r.Context())
			return store.Do(r.Context(), resourceOf(r), token, write)
		}))
}

func resourceOf(r *http.Request) string { return r.FormValue("resource") }

// remote is a store of strings behind a server with the middleware, and a client that sends tokens.
type remote struct {
	client *http.Client
	url    string
	values *sync.Map
}

func serve(t *testing.T, values *sync.Map, middleware func(http.Handler) http.Handler, guarded func(r *http.Request, write func() error) error) remote {
	answer := func(write func(r *http.Request) error) http.Handler {
		return middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			err := guarded(r, func() error { return write(r) })
			var stale *fence.StaleError
			if errors.As(err, &stale) {
				httpguard.WriteStale(w, stale)
			} else if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}))
	}
	mux := http.NewServeMux()
	mux.Handle("POST /claim", answer(func(*http.Request) error { return nil }))
	mux.Handle("POST /fail", answer(func(*http.Request) error { return errors.New("the write failed") }))
	mux.Handle("POST /write", answer(func(r *http.Request) error {
		// Makes the write as slow as that of a real store. A write that takes no time compared with its
		// request cannot be overtaken, and the races would show nothing.
		for range 3000 {
			runtime.Gosched()
		}
		values.Store(resourceOf(r), r.FormValue("value"))
		return nil
	}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	t.Cleanup(transport.CloseIdleConnections)
	return remote{&http.Client{Transport: &httpguard.Transport{Base: transport}}, server.URL, values}
}

func (s remote) Claim(ctx context.Context, resource string, token fence.Token) error {
	return s.post(ctx, "/claim", resource, token, "")
}

func (s remote) Write(ctx context.Context, resource string, token fence.Token, value string) error {
	return s.post(ctx, "/write", resource, token, value)
}

func (s remote) Fail(ctx context.Context, resource string, token fence.Token, value string) error {
	return s.post(ctx, "/fail", resource, token, value)
}

func (s remote) Read(_ context.Context, resource string) (string, error) {
	value, _ := s.values.Load(resource)
	text, _ := value.(string)
	return text, nil
}

func (s remote) post(ctx context.Context, path, resource string, token fence.Token, value string) error {
	query := url.Values{"resource": {resource}, "value": {value}}
	request, err := http.NewRequestWithContext(fence.WithToken(ctx, token), http.MethodPost, s.url+path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer func() {
		_, _ = io.Copy(io.Discard, response.Body) // so that the connection is used again
		_ = response.Body.Close()
	}()
	if err := httpguard.CheckResponse(response); err != nil {
		return err
	}
	switch response.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusBadRequest, http.StatusPreconditionRequired:
		return fmt.Errorf("%w: status %s", fence.ErrInvalid, response.Status)
	default:
		return errors.New(response.Status)
	}
}
