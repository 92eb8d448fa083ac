package e2e_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/httpguard"
	"github.com/redlock-go/redlock/guard/redisguard"
	"github.com/redlock-go/redlock/guard/sqlguard"
	"github.com/redlock-go/redlock/internal/embedded"
)

// masters stand in for servers of yours, of which redlock init made a deployment: once, as that
// takes embedded ones long.
var masters = sync.OnceValue(func() []*embedded.Server {
	servers := []*embedded.Server{embedded.New(), embedded.New(), embedded.New()}
	locks, stop := openOn(servers)
	defer stop()
	if err := admin.Init(context.Background(), locks, 0); err != nil {
		panic(err)
	}
	return servers
})

// openLocks stands in for redlock.Open with the URLs of servers of yours.
func openLocks() (locks *redlock.Client, stop func()) { return openOn(masters()) }

func openOn(servers []*embedded.Server) (locks *redlock.Client, stop func()) {
	var clients []redis.UniversalClient
	for _, server := range servers {
		clients = append(clients, redis.NewClient(server.Options()))
	}
	locks, err := redlock.New(clients)
	if err != nil {
		panic(err)
	}
	return locks, func() {
		_ = locks.Close()
		for _, client := range clients {
			_ = client.Close()
		}
	}
}

// openRedis stands in for a server of yours with data.
func openRedis() (client *redis.Client, stop func()) {
	server := embedded.New()
	client = redis.NewClient(server.Options())
	return client, func() {
		_ = client.Close()
		server.Close()
	}
}

// openDatabase stands in for a database of yours; it has a table of accounts.
func openDatabase() *sql.DB {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	db.SetMaxOpenConns(1) // a second connection would have another memory
	if _, err := db.Exec(`CREATE TABLE accounts (id TEXT PRIMARY KEY, balance INTEGER NOT NULL)`); err != nil {
		panic(err)
	}
	if _, err := db.Exec(`INSERT INTO accounts VALUES ('17', 100)`); err != nil {
		panic(err)
	}
	return db
}

var errNoToken = errors.New("no fencing token in the context: is the lock held?")

// How do I lock, and change rows of a database under the lock? With PostgreSQL or MariaDB all is
// the same but the dialect, and $1 for ? in PostgreSQL.
func Example_sqlguard() {
	locks, stop := openLocks()
	defer stop()
	db := openDatabase()
	defer func() { _ = db.Close() }()

	if _, err := db.Exec(sqlguard.Schema(sqlguard.SQLite)); err != nil { // or in a migration
		fmt.Println(err)
		return
	}
	guard, err := sqlguard.New(db, sqlguard.SQLite)
	if err != nil {
		fmt.Println(err)
		return
	}

	// It knows nothing of locks, only that a token must be there.
	withdraw := func(ctx context.Context, account string, amount int) error {
		token, ok := fence.FromContext(ctx)
		if !ok {
			return errNoToken
		}
		return guard.Do(ctx, "accounts/"+account, token, func(tx *sql.Tx) error {
			var balance int
			if err := tx.QueryRowContext(ctx, `SELECT balance FROM accounts WHERE id = ?`, account).Scan(&balance); err != nil {
				return err
			}
			if balance < amount {
				return fmt.Errorf("account %s has only %d", account, balance)
			}
			fmt.Println("left:", balance-amount)
			_, err := tx.ExecContext(ctx, `UPDATE accounts SET balance = ? WHERE id = ?`, balance-amount, account)
			return err
		})
	}

	err = locks.Do(context.Background(), "accounts/17", func(ctx context.Context, token fence.Token) error {
		return withdraw(fence.WithToken(ctx, token), "17", 30)
	})
	if errors.Is(err, fence.ErrStale) {
		fmt.Println("somebody else holds the lock by now: stop")
	}
	fmt.Println("error:", err)
	// Output:
	// left: 70
	// error: <nil>
}

// How do I lock, and change data in Redis under the lock? The data is on a server of its own, not
// on the masters.
func Example_redisguard() {
	locks, stop := openLocks()
	defer stop()
	store, stopStore := openRedis()
	defer stopStore()

	guard, err := redisguard.New(store)
	if err != nil {
		fmt.Println(err)
		return
	}

	// It knows nothing of locks, only that a token must be there.
	rename := func(ctx context.Context, id, name string) error {
		token, ok := fence.FromContext(ctx)
		if !ok {
			return errNoToken
		}
		user := "user:" + id
		if err := guard.Claim(ctx, user, token); err != nil { // so that what is read stands
			return err
		}
		old, err := store.HGet(ctx, user, "name").Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		return guard.HSet(ctx, user, token, user, "name", name, "formerly", old)
	}

	err = locks.Do(context.Background(), "user:42", func(ctx context.Context, token fence.Token) error {
		return rename(fence.WithToken(ctx, token), "42", "Ada")
	})
	if errors.Is(err, fence.ErrStale) {
		fmt.Println("somebody else holds the lock by now: stop")
	}
	fmt.Println("name:", store.HGet(context.Background(), "user:42", "name").Val())
	fmt.Println("error:", err)
	// Output:
	// name: Ada
	// error: <nil>
}

// How do I lock, and have a service change its data under the lock? The client sends the token with
// each request, and the service compares it. This service is a single process with a store of its
// own; for others see ClaimFirst.
func Example_httpguard() {
	locks, stop := openLocks()
	defer stop()

	// The service.
	var orders sync.Map
	var memory fence.Memory
	exclusive := httpguard.Exclusive(&memory, func(r *http.Request) string { return "orders/" + r.PathValue("id") })
	mux := http.NewServeMux()
	mux.Handle("PUT /orders/{id}", exclusive(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		orders.Store(r.PathValue("id"), r.FormValue("state"))
	})))
	server := httptest.NewServer(mux)
	defer server.Close()

	// Its client, which knows nothing of locks.
	client := &http.Client{Transport: &httpguard.Transport{}}
	ship := func(ctx context.Context, id string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, server.URL+"/orders/"+id+"?state=shipped", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if err := httpguard.CheckResponse(response); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("shipping order %s: %s", id, response.Status)
		}
		return nil
	}

	err := locks.Do(context.Background(), "orders/17", func(ctx context.Context, token fence.Token) error {
		return ship(fence.WithToken(ctx, token), "17")
	})
	if errors.Is(err, fence.ErrStale) {
		fmt.Println("somebody else holds the lock by now: stop")
	}
	state, _ := orders.Load("17")
	fmt.Println("order 17:", state)
	fmt.Println("error:", err)
	// Output:
	// order 17: shipped
	// error: <nil>
}
