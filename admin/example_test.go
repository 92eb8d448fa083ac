package admin_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/harness"
)

// Found a deployment of three new masters, and suspend one.
func Example() {
	var urls []string
	for range 3 {
		s, err := embedded.NewListening("127.0.0.1:0") // in place of your own server
		if err != nil {
			log.Fatal(err)
		}
		defer s.Close()
		urls = append(urls, "redis://"+s.Addr())
	}
	client, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	plan, err := admin.PlanInit(ctx, client, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("it would", plan.Does, "a deployment of", len(plan.Masters), "masters")
	if err := admin.Init(ctx, client, 0); err != nil {
		log.Fatal(err)
	}
	first := plan.Masters[0].Master
	if err := admin.ChangeMembers(ctx, client, admin.SuspendMember(first), nil); err != nil {
		log.Fatal(err)
	}
	members, err := admin.Members(ctx, client)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the first is", members.Members[0].State)

	// Output:
	// it would found a deployment of 3 masters
	// the first is suspended
}

// Find the holder of a lock.
func ExampleInspect() {
	urls, stop := harness.URLs(5)
	defer stop()
	client, err := redlock.Open(urls, redlock.WithName("ledger service"))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	lock, err := client.Lock(ctx, "ledger")
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Unlock(ctx)
	in, err := admin.Inspect(ctx, client, "ledger")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(in.Quorum.State, "with the same token:", in.Quorum.Token == lock.Token())
	// in.Quorum.Holder is "ledger service, process 4711 on host-7", as soon as the masters have it.

	// Output: held with the same token: true
}

// Take a lock from a holder that hangs. Give the new token to the stores, because the holder has
// not noticed that it lost the lock.
func ExampleForceUnlock() {
	urls, stop := harness.URLs(5)
	defer stop()
	client, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	hangs, err := client.Lock(ctx, "ledger")
	if err != nil {
		log.Fatal(err)
	}
	shown, err := admin.Inspect(ctx, client, "ledger") // look: is it the holder that hangs?
	if err != nil {
		log.Fatal(err)
	}
	token, err := admin.ForceUnlock(ctx, client, shown)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("a store that has seen the token refuses the holder:", hangs.Token() < token)
	fmt.Println("the holder was not told:", hangs.Valid())

	// Output:
	// a store that has seen the token refuses the holder: true
	// the holder was not told: true
}
