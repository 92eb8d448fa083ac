package httpguard_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/httpguard"
)

// How does a service keep an overtaken holder out, and how does the holder find out? The service
// has one process here, and a store without a guard.
func Example() {
	var orders sync.Map // requests for different orders still run at once
	var memory fence.Memory
	exclusive := httpguard.Exclusive(&memory, func(r *http.Request) string { return "orders/" + r.PathValue("id") })
	mux := http.NewServeMux()
	mux.Handle("PUT /orders/{id}", exclusive(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		orders.Store(r.PathValue("id"), r.FormValue("state"))
	})))
	server := httptest.NewServer(mux)
	defer server.Close()

	client := &http.Client{Transport: &httpguard.Transport{}}
	ship := func(ctx context.Context) error { // ctx comes from the lock and carries its token
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, server.URL+"/orders/17?state=shipped", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		return httpguard.CheckResponse(response)
	}
	fmt.Println(ship(fence.WithToken(context.Background(), 34)))
	fmt.Println(ship(fence.WithToken(context.Background(), 33)))
	// Output:
	// <nil>
	// fence: token 33 of "orders/17" is stale: 34 has been claimed
}

// How does a service of several processes keep an overtaken holder out? Its store has the guard. The middleware only
// refuses stale requests early, and the handler passes on a refusal by the store.
func ExampleClaimFirst() {
	var store fence.Memory // in a real service, a guard that all processes share: sqlguard's or redisguard's
	resource := func(r *http.Request) string { return "orders/" + r.PathValue("id") }
	mux := http.NewServeMux()
	mux.Handle("PUT /orders/{id}", httpguard.ClaimFirst(&store, resource)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := fence.FromContext(r.Context())
		err := store.Do(r.Context(), resource(r), token, func() error {
			return nil // writes the order
		})
		var stale *fence.StaleError
		switch {
		case errors.As(err, &stale):
			httpguard.WriteStale(w, stale)
		case err != nil:
			http.Error(w, "the order is not saved", http.StatusInternalServerError)
		}
	})))

	request := httptest.NewRequest(http.MethodPut, "/orders/17", nil)
	request.Header.Set(httpguard.Header, "33")
	recorder := httptest.NewRecorder()
	mux.ServeHTTP(recorder, request)
	fmt.Println(recorder.Code)
	// Output: 200
}
