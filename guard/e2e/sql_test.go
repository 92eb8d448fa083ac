package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/sqlguard"
	"github.com/redlock-go/redlock/internal/testdb"
)

// sqlLedger is two tables, and a guard or none.
type sqlLedger struct {
	*sql.DB
	guard   *sqlguard.Guard // nil: without
	dialect sqlguard.Dialect
	account string
}

func (l sqlLedger) read(ctx context.Context) (balance int64, err error) {
	if l.guard != nil {
		token, _ := fence.FromContext(ctx)
		if err := l.guard.Claim(ctx, l.account, token); err != nil {
			return 0, err
		}
	}
	err = l.QueryRowContext(ctx, l.bound(`SELECT balance FROM balances WHERE account = ?`), l.account).Scan(&balance)
	return balance, err
}

func (l sqlLedger) book(ctx context.Context, entry, balance int64) error {
	write := func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, l.bound(`INSERT INTO entries (account, amount) VALUES (?, ?)`), l.account, entry)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, l.bound(`UPDATE balances SET balance = ? WHERE account = ?`), balance, l.account)
		return err
	}
	if l.guard != nil {
		token, _ := fence.FromContext(ctx)
		return l.guard.Do(ctx, l.account, token, write)
	}
	tx, err := l.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := write(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (l sqlLedger) audit(ctx context.Context) (balance int64, entries []int64, err error) {
	err = l.QueryRowContext(ctx, l.bound(`SELECT balance FROM balances WHERE account = ?`), l.account).Scan(&balance)
	if err != nil {
		return 0, nil, err
	}
	rows, err := l.QueryContext(ctx, l.bound(`SELECT amount FROM entries WHERE account = ?`), l.account)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var entry int64
		if err := rows.Scan(&entry); err != nil {
			return 0, nil, err
		}
		entries = append(entries, entry)
	}
	return balance, entries, rows.Err()
}

// bound returns query as the dialect writes arguments.
func (l sqlLedger) bound(query string) string {
	if l.dialect != sqlguard.PostgreSQL {
		return query
	}
	for i := 1; strings.Contains(query, "?"); i++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", i), 1)
	}
	return query
}

func openSQL(driver string, dialect sqlguard.Dialect, at place) (ledger, error) {
	db, err := sql.Open(driver, at.Source)
	if err != nil {
		return nil, err
	}
	l := sqlLedger{DB: db, dialect: dialect, account: at.Account}
	if at.Guarded {
		l.guard, err = sqlguard.New(db, dialect)
	}
	return l, err
}

func openPostgres(at place) (ledger, error) { return openSQL("pgx", sqlguard.PostgreSQL, at) }
func openMariaDB(at place) (ledger, error)  { return openSQL("mysql", sqlguard.MySQL, at) }
func openSQLite(at place) (ledger, error)   { return openSQL("sqlite", sqlguard.SQLite, at) }

// founding is held while tables are made: PostgreSQL fails one of two who do so at the same time.
var founding sync.Mutex

func foundSQL(t *testing.T, driver string, dialect sqlguard.Dialect, source, account string) string {
	t.Helper()
	founding.Lock()
	defer founding.Unlock()
	opened, err := openSQL(driver, dialect, place{Source: source, Account: account})
	must(t, err)
	l := opened.(sqlLedger)
	defer func() { must(t, l.Close()) }()
	for _, statement := range []string{
		sqlguard.Schema(dialect),
		`CREATE TABLE IF NOT EXISTS balances (account VARCHAR(255) PRIMARY KEY, balance BIGINT NOT NULL)`,
		`CREATE TABLE IF NOT EXISTS entries (account VARCHAR(255) NOT NULL, amount BIGINT NOT NULL)`,
	} {
		_, err := l.ExecContext(t.Context(), statement)
		must(t, err)
	}
	_, err = l.ExecContext(t.Context(), l.bound(`INSERT INTO balances (account, balance) VALUES (?, 0)`), account)
	must(t, err)
	must(t, l.book(t.Context(), opening, opening))
	return source
}

func foundPostgres(t *testing.T, at place) string {
	return foundSQL(t, "pgx", sqlguard.PostgreSQL, testdb.PostgreSQL(t), at.Account)
}

func foundMariaDB(t *testing.T, at place) string {
	return foundSQL(t, "mysql", sqlguard.MySQL, testdb.MariaDB(t), at.Account)
}

func foundSQLite(t *testing.T, at place) string {
	file := "file:" + filepath.Join(t.TempDir(), "ledger.db") + "?_pragma=busy_timeout(1000)&_pragma=journal_mode(WAL)"
	return foundSQL(t, "sqlite", sqlguard.SQLite, file, at.Account)
}
