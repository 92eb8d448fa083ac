package httpguard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/httpguard"
)

func middlewares(memory *fence.Memory) map[string]func(http.Handler) http.Handler {
	return map[string]func(http.Handler) http.Handler{
		"ClaimFirst": httpguard.ClaimFirst(memory, resourceOf),
		"Exclusive":  httpguard.Exclusive(memory, resourceOf),
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	var memory fence.Memory
	if err := memory.Claim(t.Context(), "orders/17", 1<<53+1); err != nil {
		t.Fatal(err)
	}
	for name, middleware := range middlewares(&memory) {
		handler := middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			t.Errorf("%s ran a request that is to be refused", name)
		}))
		for _, row := range []struct {
			resource string
			tokens   []string
			status   int
			facts    map[string]any // beyond title, status and detail
		}{
			{"orders/17", []string{"9007199254740992"}, 409, map[string]any{
				"type": httpguard.TypeStale, "resource": "orders/17", "token": "9007199254740992", "highest": "9007199254740993"}},
			{"orders/17", nil, 428, map[string]any{"type": httpguard.TypeMissing}},
			{"orders/17", []string{""}, 400, map[string]any{"type": httpguard.TypeInvalid}},
			{"orders/17", []string{"0"}, 400, map[string]any{"type": httpguard.TypeInvalid}},
			{"orders/17", []string{"33, 34"}, 400, map[string]any{"type": httpguard.TypeInvalid}},
			{"orders/17", []string{strings.Repeat("9", 5000)}, 400, map[string]any{"type": httpguard.TypeInvalid}},
			{"orders/17", []string{"33", "33"}, 400, map[string]any{"type": httpguard.TypeInvalid}},
			{"", []string{"33"}, 400, map[string]any{"type": httpguard.TypeInvalid}},
		} {
			request := httptest.NewRequest(http.MethodPost, "/?resource="+row.resource, nil)
			request.Header[httpguard.Header] = row.tokens
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request)
			what := fmt.Sprintf("%s, resource %q, tokens %.30q", name, row.resource, row.tokens)
			if recorder.Code != row.status {
				t.Errorf("%s: status %d, want %d", what, recorder.Code, row.status)
			}
			checkProblem(t, what, recorder, row.facts)
		}
	}
}

func checkProblem(t *testing.T, what string, recorder *httptest.ResponseRecorder, facts map[string]any) {
	t.Helper()
	if got := recorder.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("%s: Content-Type %q", what, got)
	}
	var body map[string]any
	if err := json.Unmarshal(recorder.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s: %v in %q", what, err, recorder.Body)
	}
	if body["status"] != float64(recorder.Code) || body["title"] == "" || body["detail"] == "" {
		t.Errorf("%s: %v lacks its status, title or detail", what, body)
	}
	for _, common := range []string{"status", "title", "detail"} {
		delete(body, common)
	}
	if fmt.Sprint(body) != fmt.Sprint(facts) {
		t.Errorf("%s: got %v, want %v", what, body, facts)
	}
}

type failingGuard struct{ err error }

func (g failingGuard) Claim(context.Context, string, fence.Token) error { return g.err }

func TestGuardErrors(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, row := range []struct {
		ctx      context.Context
		err      error
		status   int
		problem  string
		isLogged bool
	}{
		{t.Context(), errors.New("secret cause"), 503, httpguard.TypeUnavailable, true},
		{ended, errors.New("secret cause"), 503, httpguard.TypeUnavailable, false},
		{t.Context(), fmt.Errorf("%w: token does not fit", fence.ErrInvalid), 400, httpguard.TypeInvalid, false},
	} {
		var logged bytes.Buffer
		server := &http.Server{ErrorLog: log.New(&logged, "", 0)}
		handler := httpguard.ClaimFirst(failingGuard{row.err}, resourceOf)(http.NotFoundHandler())
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, requestWith("34").WithContext(context.WithValue(row.ctx, http.ServerContextKey, server)))
		if recorder.Code != row.status {
			t.Errorf("%v: status %d, want %d", row.err, recorder.Code, row.status)
		}
		if strings.Contains(recorder.Body.String(), "secret") {
			t.Errorf("the client sees the cause: %s", recorder.Body)
		}
		checkProblem(t, row.err.Error(), recorder, map[string]any{"type": row.problem})
		if got := strings.Contains(logged.String(), "secret cause"); got != row.isLogged {
			t.Errorf("%v: logged is %t, want %t: %q", row.err, got, row.isLogged, logged.String())
		}
	}
}

func TestNilArgumentsPanic(t *testing.T) {
	t.Parallel()
	for name, construct := range map[string]func(){
		"ClaimFirst without guard":   func() { httpguard.ClaimFirst(nil, resourceOf) },
		"ClaimFirst without func":    func() { httpguard.ClaimFirst(new(fence.Memory), nil) },
		"Exclusive without a memory": func() { httpguard.Exclusive(nil, resourceOf) },
		"Exclusive without func":     func() { httpguard.Exclusive(new(fence.Memory), nil) },
		"ClaimFirst of no handler":   func() { httpguard.ClaimFirst(new(fence.Memory), resourceOf)(nil) },
		"Exclusive of no handler":    func() { httpguard.Exclusive(new(fence.Memory), resourceOf)(nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s did not panic", name)
				}
			}()
			construct()
		}()
	}
}

func requestWith(token string) *http.Request {
	request := httptest.NewRequest(http.MethodPost, "/?resource=orders/17", nil)
	request.Header.Set(httpguard.Header, token)
	return request
}
