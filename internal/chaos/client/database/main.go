// Command database runs the PostgreSQL server for the clients of a chaos run, and makes their tables. It prints the
// data source, and ends when its standard input ends. If no server is installed, it exits with status 3, or 1 in CI.
//
// It is in this module because it needs the driver and the guard, which the root module must not import.
package main

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/redlock-go/redlock/guard/sqlguard"
	"github.com/redlock-go/redlock/internal/testdb"
)

const notInstalled = 3

// stopped makes the server end a transaction whose client was stopped. Such a transaction would keep the fence locked,
// and all newer holders would wait.
const stopped = " options='-c idle_in_transaction_session_timeout=1s'"

func main() {
	var t exits
	source := testdb.PostgreSQL(t) + stopped
	defer testdb.Stop()
	if err := found(source); err != nil {
		t.Fatalf("%v", err)
	}
	fmt.Println(source)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func found(source string) error {
	db, err := sql.Open("pgx", source)
	if err != nil {
		return err
	}
	_, schema := db.Exec(sqlguard.Schema(sqlguard.PostgreSQL))
	_, table := db.Exec(`CREATE TABLE registers (resource text PRIMARY KEY, value bigint NOT NULL)`)
	return errors.Join(schema, table, db.Close())
}

// exits is a testdb.TB that exits the process where a test would end.
type exits struct{}

func (exits) Helper()                           {}
func (exits) Skipf(format string, args ...any)  { exit(notInstalled, format, args) }
func (exits) Fatalf(format string, args ...any) { exit(1, format, args) }

func exit(code int, format string, args []any) {
	testdb.Stop()
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(code)
}
