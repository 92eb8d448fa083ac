package main

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
)

// found makes a deployment of masters that were started just now, and that nobody else uses. One
// that does not answer in time on a busy machine is asked again.
func found(client *redlock.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := admin.Init(ctx, client, 0)
		if !errors.Is(err, redlock.ErrNoQuorum) || !sleep(ctx, 100*time.Millisecond) {
			return err
		}
	}
}
