package main

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/sqlguard"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testdb"
	"github.com/redlock-go/redlock/internal/testskip"
)

// What a run stands on: two stores refuse the write of an older holder, and the third does not.
func TestStores(t *testing.T) {
	stores, closeStores, err := open(places{redis: startRedis(t), postgres: startPostgres(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := closeStores(); err != nil {
			t.Error(err)
		}
	}()
	if len(stores) != 3 {
		t.Fatalf("%d stores, want 3", len(stores))
	}
	for _, s := range stores {
		t.Run(s.Name(), func(t *testing.T) {
			saw := func(token fence.Token, want int64) {
				t.Helper()
				if got, err := s.Read(t.Context(), "a", token); err != nil || got != want {
					t.Errorf("read %d, %v; want %d", got, err, want)
				}
			}
			wrote := func(token fence.Token, value int64, refused bool) {
				t.Helper()
				if err := s.Write(t.Context(), "a", token, value); errors.Is(err, fence.ErrStale) != refused || !refused && err != nil {
					t.Errorf("write with token %d: %v; to be refused: %t", token, err, refused)
				}
			}
			guarded := s.Name() != history.Unguarded
			saw(0, 0)
			wrote(10, 1, false)
			saw(10, 1)
			saw(12, 1) // a claim
			wrote(11, 2, guarded)
			if _, err := s.Read(t.Context(), "a", 11); errors.Is(err, fence.ErrStale) != guarded {
				t.Errorf("read with an older token: %v", err)
			}
			wrote(12, 3, false)
			saw(0, 3)
		})
	}
}

func TestNoDatabase(t *testing.T) {
	t.Parallel()
	stores, closeStores, err := open(places{redis: "redis://127.0.0.1:1"})
	if err != nil || len(stores) != 2 {
		t.Fatalf("%v, %v; want the two of Redis", stores, err)
	}
	if err := closeStores(); err != nil {
		t.Error(err)
	}
	if _, _, err := open(places{redis: "nonsense"}); err == nil {
		t.Error("a URL that is none was taken")
	}
}

func startRedis(t *testing.T) string {
	t.Helper()
	s, err := redisproc.Start(redisproc.Config{})
	testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s.URL()
}

func startPostgres(t *testing.T) string {
	t.Helper()
	source := testdb.PostgreSQL(t)
	db, err := sql.Open("pgx", source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range []string{sqlguard.Schema(sqlguard.PostgreSQL), `CREATE TABLE registers (resource text PRIMARY KEY, value bigint NOT NULL)`} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	return source
}
