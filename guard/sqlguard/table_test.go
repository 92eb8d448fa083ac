package sqlguard_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/sqlguard"
	"github.com/redlock-go/redlock/internal/testdb"
)

// Two roles with different search_paths write the same data.
func TestSearchPathsShareFences(t *testing.T) {
	t.Parallel()
	owner := openPostgres("")(t) // may start the server
	ctx, resource := bounded(t), fresh(t)
	var guards []*sqlguard.Guard
	for _, schema := range []string{scratch(), scratch()} {
		execute(t, owner, `CREATE SCHEMA `+schema)
		t.Cleanup(func() { _, _ = owner.Exec(`DROP SCHEMA ` + schema + ` CASCADE`) })
		db := open(t, "pgx", testdb.Source(t, testdb.PostgreSQL)+" search_path="+schema)
		guards = append(guards, guardOf(t, db, sqlguard.PostgreSQL))
	}
	must(t, guards[0].Claim(ctx, resource, 34))
	if err := guards[1].Claim(ctx, resource, 33); !errors.Is(err, fence.ErrStale) {
		t.Errorf("older claim with another search_path = %v, want fence.ErrStale", err)
	}
}

func TestConnectionInOtherDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	other := scratchDatabase(t) // may start the server
	ctx, resource := bounded(t), fresh(t)
	guardOf(t, inDatabase(t, other), sqlguard.MySQL) // makes a table in the other database too

	db := openMariaDB("")(t)
	db.SetMaxOpenConns(1)
	guard, named := guardOf(t, db, sqlguard.MySQL), guardOf(t, db, sqlguard.MySQL, sqlguard.WithTable("test.redlock_fences"))
	use := func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `USE `+other)
		return err
	}
	must(t, guard.Do(ctx, resource, 34, use))
	err := guard.Do(ctx, resource, 33, mustNotRun(t))
	if err == nil || !strings.Contains(err.Error(), other) || !strings.Contains(err.Error(), "WithTable") {
		t.Errorf("older write after USE = %v, want an error that names the database and WithTable", err)
	}
	if err := named.Claim(ctx, resource, 33); !errors.Is(err, fence.ErrStale) {
		t.Errorf("older claim after USE, with the table named = %v, want fence.ErrStale", err)
	}
}

func TestTemporaryTableDoesNotHideFences(t *testing.T) {
	eachDatabase(t, func(t *testing.T, store cells) {
		for _, options := range [][]sqlguard.Option{nil, {sqlguard.WithTable("shadowed_fences")}} {
			ctx, resource := bounded(t), fresh(t)
			guard := guardOf(t, store.db, store.dialect, options...)
			must(t, guard.Claim(ctx, resource, 34))
			shadowed := store.open(t)
			if store.dialect == sqlguard.SQLite {
				shadowed = store.db // the file is the test's own
			}
			shadowed.SetMaxOpenConns(1)
			temporary := strings.NewReplacer("CREATE TABLE IF NOT EXISTS", "CREATE TEMPORARY TABLE",
				`"public".`, "", `"main".`, "").Replace(sqlguard.Schema(store.dialect, options...))
			execute(t, shadowed, temporary)

			guard = guardOf(t, shadowed, store.dialect, options...)
			err := guard.Do(ctx, resource, 33, mustNotRun(t))
			switch {
			case store.dialect == sqlguard.MySQL && (err == nil || !strings.Contains(err.Error(), "temporary")):
				t.Errorf("older write behind a temporary table = %v, want an error that names it", err)
			case store.dialect != sqlguard.MySQL && !errors.Is(err, fence.ErrStale):
				t.Errorf("older write behind a temporary table = %v, want fence.ErrStale", err)
			}
		}
	})
}

func TestMissingTableNamesSchema(t *testing.T) {
	eachDatabase(t, func(t *testing.T, store cells) {
		for _, table := range []string{"not_made", "not_made.redlock_fences"} {
			guard, err := sqlguard.New(store.db, store.dialect, sqlguard.WithTable(table))
			must(t, err)
			err = guard.Do(context.Background(), "r", 34, mustNotRun(t))
			if err == nil || !strings.Contains(err.Error(), "sqlguard.Schema") || !strings.Contains(err.Error(), "not_made") {
				t.Errorf("Do = %v, want an error that names the table and sqlguard.Schema", err)
			}
		}
	})
}

func TestTableNameIsQuoted(t *testing.T) {
	eachDatabase(t, func(t *testing.T, store cells) {
		ctx, resource := bounded(t), fresh(t)
		guard := guardOf(t, store.db, store.dialect, sqlguard.WithTable("Order")) // a reserved word
		must(t, guard.Claim(ctx, resource, 34))
		if err := guard.Claim(ctx, resource, 33); !errors.Is(err, fence.ErrStale) {
			t.Errorf("older claim = %v, want fence.ErrStale", err)
		}
		if err := store.Claim(ctx, resource, 33); err != nil {
			t.Errorf("claim in the table by default: %v", err)
		}
	})
}

func TestWithTableErrors(t *testing.T) {
	t.Parallel()
	db := openSQLite("WAL", "0")(t)
	long := strings.Repeat("x", 64)
	for _, c := range []struct {
		table    string
		dialects []sqlguard.Dialect
	}{
		{"", all}, {".", all}, {"app.", all}, {".fences", all}, {"a.b.c", all}, {"app.fences; DROP TABLE x", all},
		{`app."fences"`, all}, {"app.`fences`", all}, {"größe", all}, {"fences\n", all}, {long, all}, {long + ".fences", all},
		{"pg_temp.fences", []sqlguard.Dialect{sqlguard.PostgreSQL}},
		{"PG_TEMP_3.fences", []sqlguard.Dialect{sqlguard.PostgreSQL}},
		{"temp.fences", []sqlguard.Dialect{sqlguard.SQLite}},
		{"Temp.fences", []sqlguard.Dialect{sqlguard.SQLite}},
	} {
		for _, dialect := range c.dialects {
			guard, err := sqlguard.New(db, dialect, sqlguard.WithTable(c.table))
			if !errors.Is(err, fence.ErrInvalid) || !strings.Contains(err.Error(), "table is") {
				t.Errorf("New with table %q, dialect %d = %v, %v, want fence.ErrInvalid that names the table", c.table, dialect, guard, err)
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("Schema with table %q, dialect %d did not panic", c.table, dialect)
					}
				}()
				sqlguard.Schema(dialect, sqlguard.WithTable(c.table))
			}()
		}
	}
}

var all = []sqlguard.Dialect{sqlguard.PostgreSQL, sqlguard.MySQL, sqlguard.SQLite}

// guardOf returns a guard whose table exists.
func guardOf(t *testing.T, db *sql.DB, dialect sqlguard.Dialect, options ...sqlguard.Option) *sqlguard.Guard {
	t.Helper()
	must(t, createTable(bounded(t), db, sqlguard.Schema(dialect, options...)))
	guard, err := sqlguard.New(db, dialect, options...)
	must(t, err)
	return guard
}

func mustNotRun(t *testing.T) func(*sql.Tx) error {
	return func(*sql.Tx) error {
		t.Error("the func ran without a fence")
		return nil
	}
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(bounded(t), statement); err != nil {
		t.Fatal(err)
	}
}

// scratch returns an unused name for a schema or a database.
func scratch() string { return "scratch_" + strings.ToLower(rand.Text()) }

func scratchDatabase(t *testing.T) string {
	t.Helper()
	name, db := scratch(), openMariaDB("")(t)
	execute(t, db, `CREATE DATABASE `+name)
	t.Cleanup(func() { _, _ = db.Exec(`DROP DATABASE ` + name) })
	return name
}

func inDatabase(t *testing.T, name string) *sql.DB {
	return open(t, "mysql", strings.TrimSuffix(testdb.Source(t, testdb.MariaDB), "test")+name)
}
