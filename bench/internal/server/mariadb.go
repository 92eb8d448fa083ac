package server

import (
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"

	_ "github.com/go-sql-driver/mysql" // registers "mysql"

	"github.com/redlock-go/redlock/internal/testdb"
)

// StartMariaDB starts the server that the tests use: it does not sync, which GET_LOCK would not
// need anyway. The caller must call Stop.
func StartMariaDB() (*Running, error) {
	source, err := mariaDBSource()
	if err != nil {
		return nil, err
	}
	pid, err := mariaDBPID(source)
	if err != nil {
		testdb.Stop()
		return nil, err
	}
	return &Running{Addrs: []string{source}, PIDs: func() []int { return []int{pid} }, stop: []func(){testdb.Stop}}, nil
}

// refusal is what testdb tells its test, as a panic.
type refusal struct{ error }

type starter struct{}

func (starter) Helper() {}

func (starter) Skipf(format string, args ...any) {
	panic(refusal{fmt.Errorf("%w: %s", ErrNotInstalled, fmt.Sprintf(format, args...))})
}

func (starter) Fatalf(format string, args ...any) { panic(refusal{fmt.Errorf(format, args...)}) }

func mariaDBSource() (source string, err error) {
	defer func() {
		if why := recover(); why != nil {
			r, ok := why.(refusal)
			if !ok {
				panic(why)
			}
			err = r.error
		}
	}()
	return testdb.MariaDB(starter{}), nil
}

func mariaDBPID(source string) (int, error) {
	db, err := sql.Open("mysql", source)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	var file string
	if err := db.QueryRow("SELECT @@pid_file").Scan(&file); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
