package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/httpguard"
)

// service has one ledger in its memory.
type service struct {
	mu    sync.Mutex
	books books
}

type books struct {
	Balance int64
	Entries []int64
}

// posting is what a client writes.
type posting struct{ Entry, Balance int64 }

func (s *service) read(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(s.books)
}

func (s *service) book(w http.ResponseWriter, r *http.Request) {
	var p posting
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.books.Entries = append(s.books.Entries, p.Entry)
	s.books.Balance = p.Balance
}

// foundService starts a service of the test's own, which the holder's process reaches over the
// loopback.
func foundService(t *testing.T, at place) string {
	t.Helper()
	s := &service{books: books{opening, []int64{opening}}}
	var memory fence.Memory
	guard := func(next http.Handler) http.Handler { return next }
	if at.Guarded {
		guard = httpguard.Exclusive(&memory, func(*http.Request) string { return at.Account })
	}
	mux := http.NewServeMux()
	mux.Handle("GET /ledger", guard(http.HandlerFunc(s.read)))
	mux.Handle("POST /ledger", guard(http.HandlerFunc(s.book)))
	mux.Handle("GET /audit", http.HandlerFunc(s.read))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// serviceLedger is a client of a service. Whether there is a guard it does not know: it always
// sends its token.
type serviceLedger struct {
	client *http.Client
	url    string
}

func openService(at place) (ledger, error) {
	return serviceLedger{&http.Client{Transport: &httpguard.Transport{Base: &http.Transport{}}}, at.Source}, nil
}

func (l serviceLedger) Close() error {
	l.client.CloseIdleConnections()
	return nil
}

// read claims as well: the middleware does so for every request.
func (l serviceLedger) read(ctx context.Context) (int64, error) {
	var answer books
	err := l.call(ctx, http.MethodGet, "/ledger", nil, &answer)
	return answer.Balance, err
}

func (l serviceLedger) book(ctx context.Context, entry, balance int64) error {
	return l.call(ctx, http.MethodPost, "/ledger", posting{entry, balance}, nil)
}

func (l serviceLedger) audit(ctx context.Context) (balance int64, entries []int64, err error) {
	var answer books
	err = l.call(ctx, http.MethodGet, "/audit", nil, &answer)
	return answer.Balance, answer.Entries, err
}

func (l serviceLedger) call(ctx context.Context, method, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, l.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	response, err := l.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if err := httpguard.CheckResponse(response); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, response.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}
