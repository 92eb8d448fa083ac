package httpguard_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/httpguard"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTransportAddsToken(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		token fence.Token
		set   string
		want  string
	}{
		{"token in the context", 33, "", "33"},
		{"no token", 0, "", ""},
		{"header set by the caller", 33, "7", "7"},
	} {
		request := httptest.NewRequest(http.MethodGet, "http://store.example/", nil).WithContext(fence.WithToken(t.Context(), row.token))
		if row.set != "" {
			request.Header.Set(httpguard.Header, row.set)
		}
		var sent http.Header
		transport := &httpguard.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			sent = r.Header
			return nil, io.EOF
		})}
		if _, err := transport.RoundTrip(request); err != io.EOF {
			t.Errorf("%s: error %v, want that of Base", row.name, err)
		}
		if got := strings.Join(sent.Values(httpguard.Header), ", "); got != row.want {
			t.Errorf("%s: sent %q, want %q", row.name, got, row.want)
		}
		if got := request.Header.Get(httpguard.Header); got != row.set {
			t.Errorf("%s: the caller's request has %q now, want %q", row.name, got, row.set)
		}
	}
}

func TestTransportNilHeader(t *testing.T) {
	t.Parallel()
	transport := &httpguard.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		if got := r.Header.Get(httpguard.Header); got != "33" {
			t.Errorf("sent %q, want 33", got)
		}
		return nil, io.EOF
	})}
	request := (&http.Request{}).WithContext(fence.WithToken(t.Context(), 33))
	if _, err := transport.RoundTrip(request); err != io.EOF {
		t.Errorf("error %v, want that of Base", err)
	}
}

func TestCheckResponseReadsWriteStale(t *testing.T) {
	t.Parallel()
	recorder := httptest.NewRecorder()
	want := fence.StaleError{Resource: "orders/17", Token: 1 << 53, Highest: 1<<53 + 1}
	httpguard.WriteStale(recorder, &want)
	written := recorder.Body.String()
	response := recorder.Result()

	var stale *fence.StaleError
	if err := httpguard.CheckResponse(response); !errors.As(err, &stale) || *stale != want {
		t.Errorf("CheckResponse = %v, want %v", err, &want)
	}
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != written {
		t.Errorf("body is %q after the check, %v, want %q", body, err, written)
	}
}

func TestCheckResponseIgnoresOtherResponses(t *testing.T) {
	t.Parallel()
	stale := `{"type":"` + httpguard.TypeStale + `","token":"33","highest":"34"}`
	for _, row := range []struct {
		name, media, body string
		status            int
	}{
		{"success", "application/problem+json", stale, 200},
		{"another conflict", "text/html", "<p>edit conflict</p>", 409},
		{"another problem", "application/problem+json", `{"type":"about:blank"}`, 409},
		{"no JSON", "application/problem+json", "{", 409},
		{"endless", "application/problem+json", strings.Repeat(" ", 1<<20) + stale, 409},
	} {
		response := &http.Response{
			StatusCode: row.status,
			Header:     http.Header{"Content-Type": {row.media}},
			Body:       io.NopCloser(strings.NewReader(row.body)),
		}
		if err := httpguard.CheckResponse(response); err != nil {
			t.Errorf("%s: %v, want nil", row.name, err)
		}
		if body, err := io.ReadAll(response.Body); err != nil || string(body) != row.body {
			t.Errorf("%s: body has %d bytes after the check, %v, want all %d", row.name, len(body), err, len(row.body))
		}
	}
}

func TestCheckResponseBrokenBody(t *testing.T) {
	t.Parallel()
	response := &http.Response{
		StatusCode: http.StatusConflict,
		Header:     http.Header{"Content-Type": {"application/problem+json; charset=utf-8"}},
		Body:       io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF)),
	}
	if err := httpguard.CheckResponse(response); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("CheckResponse = %v, want io.ErrUnexpectedEOF", err)
	}
}
