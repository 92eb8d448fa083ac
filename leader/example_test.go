package leader_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/leader"
)

// Lead until the program is to end.
func Example() {
	urls, stop := harness.URLs(3) // in place of your own masters
	defer stop()
	client, err := redlock.Open(urls, redlock.WithName("scheduler-1"))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	elector, err := leader.New(client, "scheduler")
	if err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background()) // or signal.NotifyContext
	err = elector.Run(ctx, func(ctx context.Context, token fence.Token) error {
		fmt.Println("leading:", elector.IsLeader(), token.Valid())
		cancel()
		<-ctx.Done() // ctx ends with the term too
		return nil
	})
	fmt.Println("the program is to end:", errors.Is(err, context.Canceled))
	// Output:
	// leading: true true
	// the program is to end: true
}
