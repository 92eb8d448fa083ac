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
	source, err := testdb.PostgreSQL()
	source += stopped
	if err == nil {
		err = found(source)
	}
	if err == nil {
		fmt.Println(source)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	testdb.Stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if errors.Is(err, testdb.ErrNotInstalled) && os.Getenv("CI") == "" {
			os.Exit(notInstalled)
		}
		os.Exit(1)
	}
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
