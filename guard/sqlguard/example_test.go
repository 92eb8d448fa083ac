package sqlguard_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/sqlguard"
)

// How does a lock holder change rows, so that it cannot overwrite rows of a newer holder?
func Example() {
	db, err := sql.Open("pgx", "postgres://localhost/shop")
	if err != nil {
		panic(err)
	}
	if _, err := db.Exec(sqlguard.Schema(sqlguard.PostgreSQL)); err != nil { // or in a migration
		panic(err)
	}
	guard, err := sqlguard.New(db, sqlguard.PostgreSQL)
	if err != nil {
		panic(err)
	}

	// ctx comes from the lock, carries its token, and ends if the lock is lost.
	withdraw := func(ctx context.Context, account string, amount int64) error {
		token, ok := fence.FromContext(ctx)
		if !ok {
			return errors.New("withdraw: no fencing token in the context: is the lock held?")
		}
		return guard.Do(ctx, "accounts/"+account, token, func(tx *sql.Tx) error {
			var balance int64
			if err := tx.QueryRowContext(ctx, `SELECT balance FROM accounts WHERE id = $1`, account).Scan(&balance); err != nil {
				return err
			}
			if balance < amount {
				return fmt.Errorf("account %s has only %d", account, balance)
			}
			_, err := tx.ExecContext(ctx, `UPDATE accounts SET balance = $2 WHERE id = $1`, account, balance-amount)
			return err
		})
	}

	err = withdraw(fence.WithToken(context.Background(), 33), "17", 100)
	if errors.Is(err, fence.ErrStale) {
		fmt.Println("somebody else holds the lock by now: stop")
	}
}

// What if the work takes long and only its result is written? Claim before you read, so that no
// older holder changes the data afterwards, and write later.
func ExampleGuard_Claim() {
	var db *sql.DB
	var guard *sqlguard.Guard // db and guard are made as in the example of the package

	report := func(ctx context.Context, month string) error {
		token, ok := fence.FromContext(ctx)
		if !ok {
			return errors.New("report: no fencing token in the context: is the lock held?")
		}
		if err := guard.Claim(ctx, "reports/"+month, token); err != nil {
			return err
		}
		var total int64
		if err := db.QueryRowContext(ctx, `SELECT sum(amount) FROM sales WHERE month = $1`, month).Scan(&total); err != nil {
			return err
		}
		// Minutes of work, in which the lock may be lost.
		return guard.Do(ctx, "reports/"+month, token, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `UPDATE reports SET total = $2 WHERE month = $1`, month, total)
			return err
		})
	}
	_ = report
}

// How do services whose connections have different databases, in MySQL, share the fences of one table?
func ExampleWithTable() {
	db, err := sql.Open("mysql", "billing@tcp(localhost)/billing")
	if err != nil {
		panic(err)
	}
	table := sqlguard.WithTable("shop.redlock_fences")
	if _, err := db.Exec(sqlguard.Schema(sqlguard.MySQL, table)); err != nil { // or in a migration
		panic(err)
	}
	guard, err := sqlguard.New(db, sqlguard.MySQL, table)
	if err != nil {
		panic(err)
	}
	_ = guard
}
