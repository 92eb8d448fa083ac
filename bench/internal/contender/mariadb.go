package contender

import (
	"context"
	"database/sql"
	"errors"

	_ "github.com/go-sql-driver/mysql" // registers "mysql"
)

// mariaDBConnections bounds the connections of one client. The test server accepts 300 in all.
const mariaDBConnections = 280

// mariaDBForever is a day in seconds: MariaDB, unlike MySQL, has no unlimited wait.
const mariaDBForever = 86400

// mariaDBClient locks with GET_LOCK. A lock belongs to a connection: each worker that holds or awaits a lock occupies
// one connection. If there are more workers than connections, the other workers wait for a connection.
type mariaDBClient struct{ *sql.DB }

func openMariaDB(sources []string) (Client, error) {
	db, err := sql.Open("mysql", sources[0]+"?interpolateParams=true")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(mariaDBConnections)
	db.SetMaxIdleConns(mariaDBConnections)
	return mariaDBClient{db}, nil
}

func (c mariaDBClient) Lock(ctx context.Context, name string, wait bool) (Held, error) {
	conn, err := c.Conn(ctx)
	if err != nil {
		return nil, err
	}
	seconds := 0
	if wait {
		seconds = mariaDBForever
	}
	h := &mariaDBHeld{conn, name}
	if err := h.ask(ctx, "SELECT GET_LOCK(?, ?)", name, seconds); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return h, nil
}

type mariaDBHeld struct {
	conn *sql.Conn
	name string
}

func (h *mariaDBHeld) Token() uint64 { return 0 }

func (h *mariaDBHeld) Unlock(ctx context.Context) error {
	return errors.Join(h.ask(ctx, "SELECT RELEASE_LOCK(?)", h.name), h.conn.Close())
}

// ask runs a statement, and returns an error unless its result is 1.
func (h *mariaDBHeld) ask(ctx context.Context, statement string, args ...any) error {
	var did sql.NullInt64
	if err := h.conn.QueryRowContext(ctx, statement, args...).Scan(&did); err != nil {
		return err
	}
	if did.Int64 != 1 {
		return errors.New("mariadb: " + statement + " was refused")
	}
	return nil
}
