package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/httpguard"
	"github.com/redlock-go/redlock/guard/redisguard"
	"github.com/redlock-go/redlock/guard/sqlguard"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testdb"
)

// store has a value for each account, and a guard.
type store interface {
	write(ctx context.Context, account string, token fence.Token, value string) error
	read(ctx context.Context, account string) (string, error)
	Close() error
}

// stores are the kinds of stores. found() starts a store and returns its source. open() opens a store from its
// source, in this process or in another one.
var stores = map[string]struct {
	found func(t *testing.T) (source string)
	open  func(source string) (store, error)
}{
	"PostgreSQL": {
		func(t *testing.T) string {
			return foundTable(t, "pgx", sqlguard.PostgreSQL, testdb.Source(t, testdb.PostgreSQL))
		},
		func(source string) (store, error) { return openSQL("pgx", sqlguard.PostgreSQL, source) },
	},
	"MariaDB": {
		func(t *testing.T) string {
			return foundTable(t, "mysql", sqlguard.MySQL, testdb.Source(t, testdb.MariaDB))
		},
		func(source string) (store, error) { return openSQL("mysql", sqlguard.MySQL, source) },
	},
	"SQLite": {
		func(t *testing.T) string {
			file := "file:" + filepath.Join(t.TempDir(), "data.db") + "?_pragma=busy_timeout(1000)&_pragma=journal_mode(WAL)"
			return foundTable(t, "sqlite", sqlguard.SQLite, file)
		},
		func(source string) (store, error) { return openSQL("sqlite", sqlguard.SQLite, source) },
	},
	"Redis": {foundRedis, openRedis},
	"HTTP":  {foundService, openService},
}

type sqlStore struct {
	*sql.DB
	guard   *sqlguard.Guard
	account string // the parameters for account and value, as the dialect writes them
	value   string
}

func openSQL(driver string, dialect sqlguard.Dialect, source string) (store, error) {
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	guard, err := sqlguard.New(db, dialect)
	if dialect == sqlguard.PostgreSQL {
		return sqlStore{db, guard, "$1", "$2"}, err
	}
	return sqlStore{db, guard, "?", "?"}, err
}

func (s sqlStore) write(ctx context.Context, account string, token fence.Token, value string) error {
	return s.guard.Do(ctx, account, token, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM accounts WHERE id = "+s.account, account); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO accounts (id, value) VALUES (%s, %s)", s.account, s.value), account, value)
		return err
	})
}

func (s sqlStore) read(ctx context.Context, account string) (value string, err error) {
	err = s.QueryRowContext(ctx, "SELECT value FROM accounts WHERE id = "+s.account, account).Scan(&value)
	return value, err
}

func foundTable(t *testing.T, driver string, dialect sqlguard.Dialect, source string) string {
	t.Helper()
	db, err := sql.Open(driver, source)
	harness.Must(t, err)
	defer func() { harness.Must(t, db.Close()) }()
	for _, statement := range []string{
		sqlguard.Schema(dialect),
		"CREATE TABLE IF NOT EXISTS accounts (id VARCHAR(255) PRIMARY KEY, value VARCHAR(255) NOT NULL)",
	} {
		_, err := db.ExecContext(t.Context(), statement)
		harness.Must(t, err)
	}
	return source
}

type redisStore struct {
	*redis.Client
	guard *redisguard.Guard
}

func foundRedis(t *testing.T) string {
	t.Helper()
	return harness.Processes(t, 1, redisproc.Config{}).Server(0).Addr()
}

func openRedis(source string) (store, error) {
	client := redis.NewClient(&redis.Options{Addr: source})
	guard, err := redisguard.New(client)
	return redisStore{client, guard}, err
}

func (s redisStore) write(ctx context.Context, account string, token fence.Token, value string) error {
	return s.guard.Set(ctx, account, token, account, value, 0)
}

func (s redisStore) read(ctx context.Context, account string) (string, error) {
	return s.Get(ctx, account).Result()
}

// foundService starts a service that has its values in memory, behind httpguard.Exclusive.
func foundService(t *testing.T) string {
	t.Helper()
	var values sync.Map
	exclusive := httpguard.Exclusive(new(fence.Memory), func(r *http.Request) string { return r.FormValue("account") })
	mux := http.NewServeMux()
	mux.Handle("PUT /", exclusive(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		values.Store(r.FormValue("account"), r.FormValue("value"))
	})))
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		value, _ := values.Load(r.FormValue("account"))
		_, _ = fmt.Fprint(w, value)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

type serviceStore struct {
	client *http.Client
	url    string
}

func openService(source string) (store, error) {
	return serviceStore{&http.Client{Transport: &httpguard.Transport{Base: &http.Transport{}}}, source}, nil
}

func (s serviceStore) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

func (s serviceStore) write(ctx context.Context, account string, token fence.Token, value string) error {
	_, err := s.call(fence.WithToken(ctx, token), http.MethodPut, url.Values{"account": {account}, "value": {value}})
	return err
}

func (s serviceStore) read(ctx context.Context, account string) (string, error) {
	return s.call(ctx, http.MethodGet, url.Values{"account": {account}})
}

func (s serviceStore) call(ctx context.Context, method string, values url.Values) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+"/?"+values.Encode(), nil)
	if err != nil {
		return "", err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	if err := httpguard.CheckResponse(response); err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", errors.New(response.Status)
	}
	text, err := io.ReadAll(response.Body)
	return string(text), err
}
