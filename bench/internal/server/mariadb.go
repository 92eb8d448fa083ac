package server

import (
	"fmt"

	"github.com/redlock-go/redlock/internal/testdb"
)

// StartMariaDB starts the server that the tests use. The server does not sync to disk, because GET_LOCK
// does not need that. Its CPU time is not known. The caller must call Stop.
func StartMariaDB() (*Running, error) {
	source, err := mariaDBSource()
	if err != nil {
		return nil, err
	}
	return &Running{Addrs: []string{source}, stop: []func(){testdb.Stop}}, nil
}

// refusal is the value with which a starter panics when testdb skips or fails its caller.
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
