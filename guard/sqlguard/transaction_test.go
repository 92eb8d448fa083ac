package sqlguard_test

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/sqlguard"
)

func TestFailedWriteIsRolledBack(t *testing.T) {
	eachDatabase(t, func(t *testing.T, store cells) {
		resource, ctx := fresh(t), bounded(t)
		must(t, store.Write(ctx, resource, 33, "before"))
		if err := store.Fail(ctx, resource, 34, "failed"); err != errWrite {
			t.Errorf("Do = %v, want the very error of the func", err)
		}
		func() {
			defer func() {
				if recover() != "panic in the func" {
					t.Error("the panic of the func was swallowed")
				}
			}()
			_ = store.Do(ctx, resource, 34, func(tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, store.upsert, resource, "panicked"); err != nil {
					t.Error(err)
				}
				panic("panic in the func")
			})
		}()
		if value, err := store.Read(ctx, resource); err != nil || value != "before" {
			t.Errorf("value = %q, %v, want the one before", value, err)
		}
		if open := store.db.Stats().InUse; open != 0 {
			t.Errorf("%d connections are still in a transaction", open)
		}
	})
}

func TestFuncEndsTransaction(t *testing.T) {
	eachDatabase(t, func(t *testing.T, store cells) {
		for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
			if err := store.Do(bounded(t), fresh(t), 34, end); !errors.Is(err, sql.ErrTxDone) {
				t.Errorf("Do = %v, want sql.ErrTxDone", err)
			}
		}
	})
}

// If MySQL has ended a transaction, the fence is lost: Do must fail although the func did not fail. Here a statement
// that commits ends the transaction; a deadlock does the same.
func TestFuncCommitsImplicitly(t *testing.T) {
	eachDatabase(t, func(t *testing.T, store cells) {
		if store.dialect != sqlguard.MySQL {
			return // the other databases create tables within a transaction
		}
		err := store.Do(bounded(t), fresh(t), 34, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(bounded(t), "CREATE TABLE IF NOT EXISTS made_within (n INT)")
			return err
		})
		if !errors.Is(err, sql.ErrTxDone) {
			t.Errorf("Do = %v, want sql.ErrTxDone", err)
		}
	})
}

func TestFuncRunsAtMostOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, store cells) {
		ran := 0
		collision := &pgconn.PgError{Code: "40001", Message: "database is locked, Error 1213"}
		err := store.Do(bounded(t), fresh(t), 34, func(*sql.Tx) error {
			ran++
			return collision
		})
		if ran != 1 || !errors.Is(err, collision) {
			t.Errorf("the func ran %d times and Do = %v, want once and its error", ran, err)
		}
	})
}

// A func that reads what it changes needs no claim: even writers with equal tokens are serialized.
func TestFuncsOfResourceAreSerialized(t *testing.T) {
	eachDatabase(t, func(t *testing.T, store cells) {
		const writers = 16
		resource, ctx := fresh(t), bounded(t)
		increment := func(tx *sql.Tx) error {
			var text string
			err := tx.QueryRowContext(ctx, store.read, resource).Scan(&text)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			count, _ := strconv.Atoi(text)
			_, err = tx.ExecContext(ctx, store.upsert, resource, strconv.Itoa(count+1))
			return err
		}
		var running sync.WaitGroup
		for range writers {
			running.Go(func() {
				err := store.retry(func() error { return store.Do(ctx, resource, 34, increment) })
				if err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		if value, err := store.Read(ctx, resource); err != nil || value != strconv.Itoa(writers) {
			t.Errorf("count is %q, %v, want %d", value, err, writers)
		}
	})
}

func TestFenceWaitEndsWithContext(t *testing.T) {
	eachDatabase(t, func(t *testing.T, store cells) {
		resource := fresh(t)
		err := store.Do(bounded(t), resource, 34, func(*sql.Tx) error {
			ctx, cancel := context.WithTimeoutCause(bounded(t), 2*time.Second, errWrite)
			defer cancel()
			err := store.Claim(ctx, resource, 35)
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errWrite) || !strings.Contains(err.Error(), " for the row of the fence, which another transaction has") {
				t.Errorf("claim while another transaction has the fence = %v, want context.DeadlineExceeded, its cause and the wait", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if err := store.Claim(bounded(t), resource, 33); !errors.Is(err, fence.ErrStale) {
			t.Errorf("older claim after that = %v, want fence.ErrStale", err)
		}
	})
}

// Without a busy_timeout a claim waits by many tries. Here ctx ends while a further try waits for a connection.
func TestContextEndBetweenTriesNamesTheWait(t *testing.T) {
	t.Parallel()
	store := databases[11].store(t)
	resource := fresh(t)
	must(t, store.Do(bounded(t), resource, 34, func(*sql.Tx) error {
		ctx, cancel := context.WithCancel(bounded(t))
		claimed := make(chan error, 1)
		go func() { claimed <- store.Claim(ctx, resource, 35) }()
		for store.db.Stats().InUse < 2 { // a try lasts much less than a pause between two
			runtime.Gosched()
		}
		store.db.SetMaxOpenConns(1)
		for store.db.Stats().WaitCount == 0 {
			runtime.Gosched()
		}
		cancel()
		if err := <-claimed; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), " for the row of the fence") {
			t.Errorf("claim = %v, want context.Canceled and the wait", err)
		}
		return nil
	}))
}

// A holder that is stopped in its transaction blocks later holders for no longer than FENCING.md allows, and cannot
// write when it continues.
func TestStoppedHolderTimesOut(t *testing.T) {
	t.Parallel()
	postgres, maria := databases[0], databases[3]
	maria.open = openMariaDB("?idle_transaction_timeout=1&innodb_lock_wait_timeout=10")
	for _, database := range []database{postgres, maria} {
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			holder, resource := database.store(t), fresh(t)
			next := holder
			if database.dialect == sqlguard.PostgreSQL {
				var err error
				holder.Guard, err = sqlguard.New(holder.db, database.dialect, sqlguard.WithLimits(time.Second, time.Minute))
				must(t, err)
				next.Guard, err = sqlguard.New(holder.db, database.dialect, sqlguard.WithLimits(time.Minute, time.Millisecond))
				must(t, err)
			}
			err := holder.Do(bounded(t), resource, 34, func(tx *sql.Tx) error {
				if database.dialect == sqlguard.PostgreSQL {
					if err := next.Claim(bounded(t), resource, 35); err == nil || !strings.Contains(err.Error(), "for the row of the fence") {
						t.Errorf("claim with a limit = %v, want one that waited", err)
					}
				}
				must(t, database.store(t).Write(bounded(t), resource, 35, "next")) // meanwhile this transaction sends nothing
				_, err := tx.ExecContext(bounded(t), database.upsert, resource, "late")
				return err
			})
			if value, _ := next.Read(bounded(t), resource); err == nil || value != "next" {
				t.Errorf("Do = %v, and the value is %q", err, value)
			}
		})
	}
}

func TestContextEndInFuncRollsBack(t *testing.T) {
	eachDatabase(t, func(t *testing.T, store cells) {
		resource := fresh(t)
		ctx, cancel := context.WithCancel(bounded(t))
		err := store.Do(ctx, resource, 34, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(bounded(t), store.upsert, resource, "too late")
			cancel()
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Do = %v, want context.Canceled", err)
		}
		// A claim waits until database/sql has rolled back, which it does in the background.
		if err := store.Claim(bounded(t), resource, 33); err != nil {
			t.Errorf("older claim after that: %v, the fence has not been rolled back", err)
		}
		if value, err := store.Read(bounded(t), resource); err != nil || value != "" {
			t.Errorf("value = %q, %v, want none", value, err)
		}
	})
}

// The package comment warns of this failure of a commit. The connection must not stay in the transaction that could not
// be committed.
func TestSQLiteCommitFailsBesideReader(t *testing.T) {
	t.Parallel()
	store := database{"", sqlguard.SQLite, openSQLite("DELETE", "0"), sqlSchema, sqliteUpsert, qRead}.store(t)
	ctx := bounded(t)
	must(t, store.Write(ctx, "r", 33, "before"))
	reader, err := store.db.QueryContext(ctx, `SELECT value FROM cells`)
	must(t, err)
	if !reader.Next() {
		t.Fatal("nothing to read")
	}
	err = store.Do(ctx, "r", 34, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, store.upsert, "r", "after")
		return err
	})
	if !isBusy(err) {
		t.Errorf("write beside a reader = %v, want SQLITE_BUSY", err)
	}
	must(t, reader.Close())
	if err := store.Write(ctx, "r", 33, "again"); err != nil {
		t.Errorf("write with the old token after the failed commit: %v", err)
	}
}
