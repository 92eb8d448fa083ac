package server

import "github.com/redlock-go/redlock/internal/testdb"

// StartMariaDB starts the server that the tests use. The server does not sync to disk, because GET_LOCK
// does not need that. Its CPU time is not known. The caller must call Stop.
func StartMariaDB() (*Running, error) {
	source, err := testdb.MariaDB()
	if err != nil {
		return nil, err
	}
	return &Running{Addrs: []string{source}, stop: []func(){testdb.Stop}}, nil
}
