package docs_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/redlock-go/redlock"
)

func observed(urls []string, page func(context.Context, string)) (*redlock.Client, error) {
	// shown: OBSERVING.md
	mine := redlock.Observer{Ended: func(ctx context.Context, end redlock.HoldEnd) {
		if errors.Is(end.Cause, redlock.ErrLost) || errors.Is(end.Cause, redlock.ErrExpired) {
			page(ctx, end.Name)
		}
	}}
	client, err := redlock.Open(urls, redlock.WithObserver(redlock.Observers(redlock.LogObserver(slog.Default()), mine)))
	// end
	return client, err
}

func TestObservedClientOpens(t *testing.T) {
	t.Parallel()
	client, err := observed([]string{"redis://127.0.0.1:1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}
