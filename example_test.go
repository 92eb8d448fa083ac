package redlock_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/embedded"
)

// masters returns five servers that redlock init has made a deployment.
func masters() (urls []string, stop func()) {
	var servers []*embedded.Server
	for range 5 {
		s, err := embedded.NewListening("127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		servers = append(servers, s)
		urls = append(urls, "redis://"+s.Addr())
	}
	client, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(admin.Init(context.Background(), client, 0), client.Close()); err != nil {
		log.Fatal(err)
	}
	return urls, func() {
		for _, s := range servers {
			s.Close()
		}
	}
}

// ledger is a store that compares tokens, as guard/sqlguard does in a database.
var ledger fence.Memory

func pay(ctx context.Context) error {
	fmt.Println("paid")
	return ctx.Err()
}

// Run a job under a lock.
func Example() {
	urls, stop := masters()
	defer stop()

	client, err := redlock.Open(urls) // "redis://10.0.0.1:6379", …: an odd number, 5 as a rule
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	err = client.Do(context.Background(), "payroll", func(ctx context.Context, token fence.Token) error {
		// ctx ends with the hold. The store refuses a holder that was overtaken.
		return ledger.Do(ctx, "payroll", token, func() error { return pay(ctx) })
	}, redlock.WithTTL(30*time.Second), redlock.WithWait(time.Minute))
	fmt.Println("error:", err)
	// Output:
	// paid
	// error: <nil>
}

// deploymentOf returns the deployment that keeps the lock of a name. Every program must have the
// same list.
func deploymentOf(name string, deployments []*redlock.Client) *redlock.Client {
	sum := sha256.Sum256([]byte(name))
	return deployments[binary.BigEndian.Uint64(sum[:])%uint64(len(deployments))]
}

// Spread names over several deployments, when the masters of one are busy.
func Example_severalDeployments() {
	var deployments []*redlock.Client
	for range 2 {
		urls, stop := masters()
		defer stop()
		client, err := redlock.Open(urls)
		if err != nil {
			log.Fatal(err)
		}
		defer client.Close()
		deployments = append(deployments, client)
	}

	ctx := context.Background()
	for _, name := range []string{"payroll", "ledger", "nightly report"} {
		client := deploymentOf(name, deployments)
		err := client.Do(ctx, name, func(ctx context.Context, token fence.Token) error {
			return ledger.Do(ctx, name, token, func() error { return pay(ctx) })
		})
		fmt.Println(name, "in deployment", slices.Index(deployments, client), "error:", err)
	}
	// Output:
	// paid
	// payroll in deployment 0 error: <nil>
	// paid
	// ledger in deployment 1 error: <nil>
	// paid
	// nightly report in deployment 1 error: <nil>
}

// Take a lock if it is free, and continue without it if not.
func ExampleClient_TryLock() {
	urls, stop := masters()
	defer stop()
	client, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	lock, err := client.TryLock(ctx, "nightly report")
	if err != nil {
		fmt.Println("somebody else is at it:", err)
		return
	}
	defer lock.Unlock(ctx)
	fmt.Println("held:", lock.Valid())
	// Output: held: true
}

// Re-enter a lock with a context derived from the lock's.
func ExampleLock_Context() {
	urls, stop := masters()
	defer stop()
	client, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	outer, err := client.Lock(ctx, "ledger")
	if err != nil {
		log.Fatal(err)
	}
	defer outer.Unlock(ctx)

	inner, err := client.TryLock(outer.Context(), "ledger")
	if err != nil {
		log.Fatal(err)
	}
	defer inner.Unlock(ctx)
	fmt.Println("the same token:", inner.Token() == outer.Token())
	// Output: the same token: true
}

// Hold two accounts at a time, even if others lock them in the reverse order.
func ExampleClient_LockAll() {
	urls, stop := masters()
	defer stop()
	client, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	locks, err := client.LockAll(ctx, []string{"account 7", "account 3"}, redlock.WithWait(time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Unlock(ctx)
	// Each account is a resource with its own token.
	for _, name := range locks.Names() {
		err := ledger.Do(locks.Context(), name, locks.Token(name), func() error { return pay(locks.Context()) })
		fmt.Println(name, err)
	}
	// Output:
	// paid
	// account 3 <nil>
	// paid
	// account 7 <nil>
}

// Let three workers at a time use a licence.
func ExampleWithSlots() {
	urls, stop := masters()
	defer stop()
	client, err := redlock.Open(urls, redlock.WithSlots(3)) // an option of the client, so that all callers agree
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	for range 4 {
		lock, err := client.TryLock(ctx, "licence")
		if err != nil {
			fmt.Println("all in use:", errors.Is(err, redlock.ErrHeld))
			break
		}
		defer lock.Unlock(ctx)
		fmt.Println("a slot of 3:", lock.Slot() >= 1 && lock.Slot() <= 3, lock.Name() == fmt.Sprint("licence~slot", lock.Slot()))
	}
	// Output:
	// a slot of 3: true true
	// a slot of 3: true true
	// a slot of 3: true true
	// all in use: true
}

// Check whether the holder of a request's token still holds the lock.
func ExampleClient_Verify() {
	urls, stop := masters()
	defer stop()
	client, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	lock, err := client.Lock(ctx, "ledger")
	if err != nil {
		log.Fatal(err)
	}
	verdict, _ := client.Verify(ctx, "ledger", lock.Token())
	fmt.Println("while it is held:", verdict)
	if err := lock.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	verdict, _ = client.Verify(ctx, "ledger", lock.Token())
	fmt.Println("afterwards:", verdict)
	// Output:
	// while it is held: valid
	// afterwards: stale
}

// Run a short job once, though several schedulers start it at nearly the same time.
func ExampleWithHoldAtLeast() {
	urls, stop := masters()
	defer stop()
	client, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	for range 3 { // what three schedulers do, one shortly after the other
		err := client.Do(ctx, "ping", func(context.Context, fence.Token) error {
			fmt.Println("ping")
			return nil
		}, redlock.WithHoldAtLeast(5*time.Second), redlock.WithWait(0))
		if errors.Is(err, redlock.ErrHeld) {
			fmt.Println("somebody else did it")
		}
	}
	// Output:
	// ping
	// somebody else did it
	// somebody else did it
}

// Read while others may read too, and nobody writes.
func ExampleClient_RLock() {
	urls, stop := masters()
	defer stop()
	client, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	one, err := client.RLock(ctx, "prices")
	if err != nil {
		log.Fatal(err)
	}
	other, err := client.RLock(ctx, "prices")
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.TryLock(ctx, "prices")
	fmt.Println("a writer is refused:", errors.Is(err, redlock.ErrHeld))
	fmt.Println("nobody wrote between:", one.LastToken() == other.LastToken())
	fmt.Println("unlocked:", errors.Join(one.Unlock(ctx), other.Unlock(ctx)))
	// Output:
	// a writer is refused: true
	// nobody wrote between: true
	// unlocked: <nil>
}

// Make a client of clients of go-redis, which have the addresses, the users and TLS.
func ExampleNew() {
	urls, stop := masters()
	defer stop()
	var servers []redis.UniversalClient
	for _, url := range urls {
		options, err := redis.ParseURL(url)
		if err != nil {
			log.Fatal(err)
		}
		options.ClientName = "payments"
		server := redis.NewClient(options)
		defer server.Close() // New uses the options of server, and none of its connections
		servers = append(servers, server)
	}
	client, err := redlock.New(servers)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	fmt.Println("ready:", client.Ready(context.Background()) == nil)
	// Output: ready: true
}

// Wait for a lock, and find out why a call did not get it.
func ExampleClient_Lock() {
	urls, stop := masters()
	defer stop()
	client, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	first, err := client.Lock(ctx, "ledger", redlock.WithTTL(10*time.Second), redlock.WithWait(time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	defer first.Unlock(ctx)

	_, err = client.Lock(ctx, "ledger", redlock.WithWait(10*time.Millisecond))
	var quorum *redlock.QuorumError
	switch {
	case errors.Is(err, redlock.ErrHeld):
		fmt.Println("somebody else has it")
	case errors.As(err, &quorum):
		fmt.Println("of", len(quorum.Votes), "masters too few answered:", quorum.Reason)
	}
	// Output: somebody else has it
}

// Write, then let others read while this process continues to read.
func ExampleLock_Downgrade() {
	urls, stop := masters()
	defer stop()
	client, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	lock, err := client.Lock(ctx, "prices")
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Unlock(ctx)
	if err := lock.Downgrade(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("a token to write with:", lock.Token() != 0)
	reader, err := client.TryRLock(ctx, "prices")
	if err != nil {
		log.Fatal(err)
	}
	defer reader.Unlock(ctx)
	fmt.Println("another reads:", reader.Valid())
	// Output:
	// a token to write with: false
	// another reads: true
}

// Log what an operator should look at.
func ExampleLogObserver() {
	logger := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	client, err := redlock.Open([]string{"redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"},
		redlock.WithObserver(redlock.LogObserver(logger)), redlock.WithName("payments"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.Close())
	// Output: <nil>
}
