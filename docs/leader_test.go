package docs_test

import (
	"context"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/leader"
)

// What the README shows of package leader is compiled here. Example_afterLeaderelection runs the
// same.
var _ = func(ctx context.Context, client *redlock.Client, schedule func(context.Context, fence.Token) error) error {
	// shown: ../README.md
	elector, err := leader.New(client, "scheduler")
	if err != nil {
		return err
	}
	return elector.Run(ctx, schedule) // it calls schedule(ctx, token) for each term, until ctx ends
	// end
}
