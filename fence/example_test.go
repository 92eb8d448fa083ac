package fence_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlock-go/redlock/fence"
)

// How does a paused holder find out that it has been overtaken? By its write, which the guard
// refuses. The token comes with the context, from the lock.
func ExampleMemory() {
	var guard fence.Memory
	var balance int

	deposit := func(ctx context.Context, amount int) error {
		token, ok := fence.FromContext(ctx)
		if !ok {
			return errors.New("deposit: no fencing token in the context: is the lock held?")
		}
		// Claim before you read, so that no older holder changes the data afterwards.
		if err := guard.Claim(ctx, "accounts/17", token); err != nil {
			return err
		}
		updated := balance + amount
		return guard.Do(ctx, "accounts/17", token, func() error {
			balance = updated
			return nil
		})
	}

	fmt.Println(deposit(fence.WithToken(context.Background(), 34), 100))
	fmt.Println(deposit(fence.WithToken(context.Background(), 33), 5))
	fmt.Println(balance)
	// Output:
	// <nil>
	// fence: token 33 of "accounts/17" is stale: 34 has been claimed
	// 100
}

// What may a holder learn from a refusal?
func ExampleStaleError() {
	var guard fence.Memory
	_ = guard.Claim(context.Background(), "accounts/17", 34)

	err := guard.Claim(context.Background(), "accounts/17", 33)
	var stale *fence.StaleError
	if errors.As(err, &stale) {
		fmt.Printf("%d stops, %d goes on\n", stale.Token, stale.Highest)
	}
	// Output: 33 stops, 34 goes on
}

// How does a program find out that another one writes the same resource under another lock name? By
// a check when it starts.
func ExampleCheckLockName() {
	var guard fence.Memory
	ctx := context.Background()

	fmt.Println("first program:", fence.CheckLockName(ctx, &guard, "accounts/17", "accounts/17"))

	err := fence.CheckLockName(ctx, &guard, "accounts/17", "account 17")
	if errors.Is(err, fence.ErrOtherLockName) {
		fmt.Println("second program: stop, and mend the name")
	}
	// Output:
	// first program: <nil>
	// second program: stop, and mend the name
}
