package docs_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
)

// masters returns the URLs of three masters that all examples share, because it takes long to found
// a deployment of embedded masters.
var masters = sync.OnceValue(func() []string {
	urls, _ := harness.URLs(3) // the masters end with the process
	return urls
})

// open stands in for redlock.Open with the URLs of your masters.
func open() (client *redlock.Client, stop func()) {
	client, err := redlock.Open(masters())
	if err != nil {
		log.Fatal(err)
	}
	return client, func() { _ = client.Close() }
}

// store stands in for a store with a guard.
type store struct {
	guard fence.Memory
	rows  []string
}

// shown: FENCING.md

// add needs no lock: the token comes with the context.
func (s *store) add(ctx context.Context, resource, row string) error {
	token, ok := fence.FromContext(ctx)
	if !ok {
		return errors.New("no fencing token in the context: is the lock held?")
	}
	return s.guard.Do(ctx, resource, token, func() error {
		s.rows = append(s.rows, row)
		return nil
	})
}

// end

// The token reaches the store with the context.
func Example_tokenInTheContext() {
	client, stop := open()
	defer stop()
	ctx := context.Background()
	var books store

	// shown: FENCING.md
	err := client.Do(ctx, "books", func(ctx context.Context, _ fence.Token) error {
		return books.add(ctx, "books", "rent")
	})
	// end

	fmt.Println(books.rows, err)
	fmt.Println(books.add(ctx, "books", "no lock"))
	// Output:
	// [rent] <nil>
	// no fencing token in the context: is the lock held?
}

// Two lock names for one resource: a valid holder is refused.
func Example_twoNamesForOneResource() {
	client, stop := open()
	defer stop()
	ctx := context.Background()
	var db store
	for range 3 {
		if err := client.Do(ctx, "hot", func(context.Context, fence.Token) error { return nil }); err != nil {
			log.Fatal(err)
		}
	}

	cold, err := client.Lock(ctx, "cold")
	if err != nil {
		log.Fatal(err)
	}
	defer cold.Unlock(ctx)
	hot, err := client.Lock(ctx, "hot")
	if err != nil {
		log.Fatal(err)
	}
	defer hot.Unlock(ctx)
	// shown: FENCING.md
	// Wrong: two names for one resource. "hot" was locked more often, so its token is higher.
	fmt.Println("hot writes:", db.add(hot.Context(), "db", "a row"))
	err = db.add(cold.Context(), "db", "a row")
	fmt.Println("cold is held:", cold.Valid(), "and refused:", errors.Is(err, fence.ErrStale))
	// end

	// Output:
	// hot writes: <nil>
	// cold is held: true and refused: true
}

// CheckLockName finds the mistake of the previous example.
func Example_checkLockName() {
	ctx := context.Background()
	var db store
	if err := fence.CheckLockName(ctx, &db.guard, "db", "hot"); err != nil {
		log.Fatal(err)
	}

	start := func() error {
		// shown: FENCING.md
		// In the program that locks "cold":
		if err := fence.CheckLockName(ctx, &db.guard, "db", "cold"); err != nil {
			return err // it is fence.ErrOtherLockName: "db" is guarded under another lock name
		}
		// end
		return nil
	}
	fmt.Println("told:", errors.Is(start(), fence.ErrOtherLockName))
	// Output: told: true
}

// A holder of several names writes to each resource with the token of its name.
func Example_tokensOfASet() {
	client, stop := open()
	defer stop()
	ctx := context.Background()
	var accounts store

	// shown: FENCING.md
	err := client.DoAll(ctx, []string{"account 3", "account 7"}, func(ctx context.Context, tokens map[string]fence.Token) error {
		for name, token := range tokens {
			if err := accounts.add(fence.WithToken(ctx, token), name, "moved"); err != nil {
				return err
			}
		}
		return nil
	})
	// end

	fmt.Println(accounts.rows, err)
	// Output: [moved moved] <nil>
}

// A slot is a resource of its own.
func Example_tokenOfASlot() {
	client, stop := open()
	defer stop()
	ctx := context.Background()
	var licences store

	lock, err := client.Lock(ctx, "licence", redlock.WithSlots(3))
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Unlock(ctx)
	// shown: FENCING.md
	err = licences.add(lock.Context(), lock.Name(), "in use") // for example "licence~slot2"
	// end

	fmt.Println(licences.rows, err)
	// Output: [in use] <nil>
}

// A reader keeps what it read for as long as nobody wrote.
func Example_lastToken() {
	client, stop := open()
	defer stop()
	ctx := context.Background()
	reads := 0
	readPrices := func(context.Context) string { reads++; return "prices" }

	var kept string
	// shown: FENCING.md
	var keptFor fence.Token // the LastToken of what is kept; never pass it to a guard
	prices := func(ctx context.Context) (string, error) {
		lock, err := client.RLock(ctx, "prices")
		if err != nil {
			return "", err
		}
		defer lock.Unlock(ctx)
		if lock.LastToken() != keptFor {
			kept, keptFor = readPrices(lock.Context()), lock.LastToken()
		}
		return kept, nil
	}
	// end

	for range 3 {
		_, err := prices(ctx)
		fmt.Println(err)
	}
	fmt.Println("read once:", reads == 1)
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// read once: true
}
