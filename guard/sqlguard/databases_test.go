package sqlguard_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/guardtest"
	"github.com/redlock-go/redlock/guard/sqlguard"
	"github.com/redlock-go/redlock/internal/testdb"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testdb.Stop()
	os.Exit(code)
}

// database is a kind of database with its settings, and a table of values that tests write.
type database struct {
	name    string
	dialect sqlguard.Dialect
	open    func(t *testing.T) *sql.DB
	schema  string
	upsert  string // takes name and value
	read    string // takes name
}

const (
	sqlSchema = `CREATE TABLE IF NOT EXISTS cells (name TEXT PRIMARY KEY, value TEXT NOT NULL)`
	mySchema  = `CREATE TABLE IF NOT EXISTS cells (name VARBINARY(255) PRIMARY KEY, value VARBINARY(255) NOT NULL) ENGINE=InnoDB`

	pgUpsert     = `INSERT INTO cells (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value`
	sqliteUpsert = `INSERT INTO cells (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
	myUpsert     = `INSERT INTO cells (name, value) VALUES (?, ?) ON DUPLICATE KEY UPDATE value = VALUES(value)`

	pgRead = `SELECT value FROM cells WHERE name = $1`
	qRead  = `SELECT value FROM cells WHERE name = ?`
)

// databases has every kind of database, at its default isolation level and at all others.
var databases = []database{
	{"PostgreSQL", sqlguard.PostgreSQL, openPostgres(""), sqlSchema, pgUpsert, pgRead},
	{"PostgreSQL at REPEATABLE READ", sqlguard.PostgreSQL, openPostgres("repeatable read"), sqlSchema, pgUpsert, pgRead},
	{"PostgreSQL at SERIALIZABLE", sqlguard.PostgreSQL, openPostgres("serializable"), sqlSchema, pgUpsert, pgRead},
	{"MariaDB", sqlguard.MySQL, openMariaDB(""), mySchema, myUpsert, qRead},
	{"MariaDB at READ COMMITTED", sqlguard.MySQL, openMariaDB("?tx_isolation='READ-COMMITTED'"), mySchema, myUpsert, qRead},
	{"MariaDB at READ UNCOMMITTED", sqlguard.MySQL, openMariaDB("?tx_isolation='READ-UNCOMMITTED'"), mySchema, myUpsert, qRead},
	{"MariaDB at SERIALIZABLE", sqlguard.MySQL, openMariaDB("?tx_isolation='SERIALIZABLE'"), mySchema, myUpsert, qRead},
	{"MariaDB with snapshot isolation", sqlguard.MySQL, openMariaDB("?innodb_snapshot_isolation=ON"), mySchema, myUpsert, qRead},
	{"MariaDB with found rows and interpolation", sqlguard.MySQL, openMariaDB("?clientFoundRows=true&interpolateParams=true"), mySchema, myUpsert, qRead},
	{"SQLite", sqlguard.SQLite, openSQLite("WAL", "100"), sqlSchema, sqliteUpsert, qRead},
	{"SQLite without WAL", sqlguard.SQLite, openSQLite("DELETE", "10"), sqlSchema, sqliteUpsert, qRead},
	{"SQLite without busy_timeout", sqlguard.SQLite, openSQLite("WAL", "0"), sqlSchema, sqliteUpsert, qRead},
}

func TestConformance(t *testing.T) {
	eachDatabase(t, func(t *testing.T, store cells) {
		guardtest.Run(t, store)
	})
}

// eachDatabase runs test on all databases in parallel.
func eachDatabase(t *testing.T, test func(t *testing.T, store cells)) {
	t.Helper()
	t.Parallel()
	for _, database := range databases {
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			test(t, database.store(t))
		})
	}
}

func openPostgres(isolation string) func(t *testing.T) *sql.DB {
	return func(t *testing.T) *sql.DB {
		source := testdb.Source(t, testdb.PostgreSQL)
		if isolation != "" {
			source += " default_transaction_isolation='" + isolation + "'"
		}
		return open(t, "pgx", source)
	}
}

func openMariaDB(parameters string) func(t *testing.T) *sql.DB {
	return func(t *testing.T) *sql.DB {
		return open(t, "mysql", testdb.Source(t, testdb.MariaDB)+parameters)
	}
}

func openSQLite(journal, busy string) func(t *testing.T) *sql.DB {
	return func(t *testing.T) *sql.DB {
		file := "file:" + filepath.Join(t.TempDir(), "data.db") + "?_pragma=synchronous(OFF)"
		// The mode is set on a connection of its own before all others, because this needs the whole file.
		first := open(t, "sqlite", file+"&_pragma=journal_mode("+journal+")")
		must(t, first.PingContext(bounded(t)))
		return open(t, "sqlite", file+"&_pragma=busy_timeout("+busy+")")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, driver, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	must(t, err)
	db.SetMaxOpenConns(20)
	db.SetMaxIdleConns(20)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// bounded returns a context that ends before an endless transaction would stop the whole run.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// fresh returns the name of a resource that no other test, and no earlier run of this test, has used.
func fresh(t *testing.T) string { return t.Name() + "/" + rand.Text() }

// cells keeps one string for each resource.
type cells struct {
	*sqlguard.Guard
	database
	db *sql.DB
}

func (d database) store(t *testing.T) cells {
	t.Helper()
	db := d.open(t)
	for _, schema := range []string{sqlguard.Schema(d.dialect), d.schema} {
		must(t, createTable(bounded(t), db, schema))
	}
	guard, err := sqlguard.New(db, d.dialect)
	must(t, err)
	return cells{guard, d, db}
}

// creating serializes the creation of tables, which may fail concurrently in PostgreSQL: see sqlguard.Schema.
var creating sync.Mutex

func createTable(ctx context.Context, db *sql.DB, schema string) error {
	creating.Lock()
	defer creating.Unlock()
	_, err := db.ExecContext(ctx, schema)
	return err
}

func (c cells) Write(ctx context.Context, resource string, token fence.Token, value string) error {
	return c.retry(func() error {
		return c.Do(ctx, resource, token, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, c.upsert, resource, value)
			return err
		})
	})
}

var errWrite = errors.New("the write failed")

func (c cells) Fail(ctx context.Context, resource string, token fence.Token, value string) error {
	return c.retry(func() error {
		return c.Do(ctx, resource, token, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, c.upsert, resource, value); err != nil {
				return err
			}
			return errWrite
		})
	})
}

func (c cells) Read(ctx context.Context, resource string) (string, error) {
	var value string
	err := c.retry(func() error {
		return c.db.QueryRowContext(ctx, c.read, resource).Scan(&value)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

// retry calls a function again after a serialization failure, as the package requires of its callers.
func (c cells) retry(do func() error) error {
	for {
		err := do()
		var postgres *pgconn.PgError
		var maria *mysql.MySQLError
		switch {
		case errors.As(err, &postgres) && postgres.Code == "40001":
		case errors.As(err, &maria) && maria.Number == 1213:
		case isBusy(err): // a commit while another connection reads, without WAL
		default:
			return err
		}
		if strings.Contains(err.Error(), "claim of") {
			return err // the guard itself must try again after this error, and must not return the error
		}
	}
}

func isBusy(err error) bool {
	const busy = 5 // SQLITE_BUSY
	var failure interface {
		error
		Code() int
	}
	return errors.As(err, &failure) && failure.Code()&0xff == busy
}
