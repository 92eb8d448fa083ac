package httpguard

import (
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/redlock-go/redlock/fence"
)

// Header is the request header with the token, in decimal.
const Header = "Fencing-Token"

// ClaimFirst returns a middleware that claims the resource of a request with the request's token, before the handler
// runs. The handler gets the token by fence.FromContext, and must write with this token through a guard of its store,
// because a newer request may overtake the handler; see the package comment.
//
// resource names the resource of a request. It must not read the body. If it returns "", the
// request is answered with 400.
//
// If the guard fails, the request is answered with 503, and the guard's error goes to the ErrorLog
// of the server. ClaimFirst panics if guard or resource is nil, and the middleware panics if the
// handler is nil.
func ClaimFirst(guard fence.Guard, resource func(*http.Request) string) func(http.Handler) http.Handler {
	if guard == nil || resource == nil {
		panic("httpguard: ClaimFirst needs a guard and a resource func, one of them is nil")
	}
	return func(next http.Handler) http.Handler {
		if next == nil {
			panic("httpguard: ClaimFirst needs a handler, it is nil")
		}
		return withToken(resource, func(w http.ResponseWriter, r *http.Request, name string, token fence.Token) {
			if err := guard.Claim(r.Context(), name, token); err != nil {
				refuse(w, r, err)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// Exclusive returns a middleware that runs each handler in memory.Do: one at a time for each resource, and none that
// has an older token than a handler that ran before. This protects a store without guards, but only within this
// process; see the package comment. The handler finds the token by fence.FromContext. The handler must not use the
// same resource of memory, because it would wait for itself.
//
// A handler occupies its resource until it returns, even while it reads a slow client's body: set
// the timeouts of the server. A request waits for its turn until its context ends.
//
// resource is as in ClaimFirst. Exclusive panics if memory or resource is nil, and the middleware
// panics if the handler is nil.
func Exclusive(memory *fence.Memory, resource func(*http.Request) string) func(http.Handler) http.Handler {
	if memory == nil || resource == nil {
		panic("httpguard: Exclusive needs a memory and a resource func, one of them is nil")
	}
	return func(next http.Handler) http.Handler {
		if next == nil {
			panic("httpguard: Exclusive needs a handler, it is nil")
		}
		return withToken(resource, func(w http.ResponseWriter, r *http.Request, name string, token fence.Token) {
			err := memory.Do(r.Context(), name, token, func() error {
				next.ServeHTTP(w, r)
				return nil
			})
			// The func returns no error, so err is memory's own, and the handler has not run.
			if err != nil {
				refuse(w, r, err)
			}
		})
	}
}

// withToken returns a handler that reads the token, puts it in the request's context, and calls next.
func withToken(resource func(*http.Request) string, next func(w http.ResponseWriter, r *http.Request, name string, token fence.Token)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := r.Header.Values(Header)
		if len(sent) == 0 {
			missing.write(w)
			return
		}
		// Two headers could be two tokens: neither is preferred.
		if len(sent) > 1 {
			invalid("there are %d %s headers: one is allowed", len(sent), Header).write(w)
			return
		}
		token, err := fence.Parse(sent[0])
		if err != nil {
			invalid("%s is not a decimal number from 1 to 18446744073709551615", Header).write(w)
			return
		}
		name := resource(r)
		if name == "" {
			invalid("the request names no resource").write(w)
			return
		}
		next(w, r.WithContext(fence.WithToken(r.Context(), token)), name, token)
	})
}

// refuse answers a request whose handler has not run, because a guard returned err.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	var stale *fence.StaleError
	switch {
	case errors.As(err, &stale):
		WriteStale(w, stale)
	case errors.Is(err, fence.ErrInvalid):
		invalid("%s", err).write(w)
	default:
		// If the request's context has ended, the client gave up: this needs no log line.
		if r.Context().Err() == nil {
			logError(r, fmt.Errorf("httpguard: claim before %s %q: %w", r.Method, r.URL.Path, err))
		}
		unavailable.write(w)
	}
}

// logError logs an error as net/http does, without showing it to the client.
func logError(r *http.Request, err error) {
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	if server != nil && server.ErrorLog != nil {
		server.ErrorLog.Print(err)
		return
	}
	log.Print(err)
}
