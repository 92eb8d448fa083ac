package sqlguard_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/sqlguard"
)

func TestLimits(t *testing.T) {
	eachDatabase(t, func(t *testing.T, store cells) {
		ctx := bounded(t)
		// Two names of the maximal length that differ only in their last bytes: a cut at any length would
		// make them equal.
		long := fresh(t) + strings.Repeat("é", 255)
		long = strings.ToValidUTF8(long[:254], "x")
		for _, resource := range []string{long + "1", long + "2"} {
			if err := store.Claim(ctx, resource, 34); err != nil {
				t.Errorf("claim of a resource of %d bytes: %v", len(resource), err)
			}
		}
		for what, err := range map[string]error{
			"token above 63 bits":   store.Claim(ctx, "r", math.MaxInt64+1),
			"largest token":         store.Claim(ctx, "r", math.MaxUint64),
			"resource of 256 bytes": store.Claim(ctx, long+"12", 34),
			"resource with a zero":  store.Claim(ctx, "r\x00", 34),
			"resource not UTF-8":    store.Claim(ctx, "r\xff", 34),
			"no write":              store.Do(ctx, "r", 34, nil),
		} {
			if !errors.Is(err, fence.ErrInvalid) {
				t.Errorf("%s: got %v, want fence.ErrInvalid", what, err)
			}
		}
	})
}

// The package comment has the limit for fence.CheckLockName.
func TestCheckLockNameLimit(t *testing.T) {
	eachDatabase(t, func(t *testing.T, store cells) {
		longest := (fresh(t) + strings.Repeat("x", 255))[:238]
		if err := fence.CheckLockName(bounded(t), store, longest, "hot"); err != nil {
			t.Errorf("check of a resource of 238 bytes: %v", err)
		}
		if err := fence.CheckLockName(bounded(t), store, longest+"x", "hot"); !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("check of a resource of 239 bytes = %v, want fence.ErrInvalid", err)
		}
	})
}

func TestNewErrors(t *testing.T) {
	t.Parallel()
	db := openSQLite("WAL", "0")(t)
	for what, construct := range map[string]func() (*sqlguard.Guard, error){
		"no db":           func() (*sqlguard.Guard, error) { return sqlguard.New(nil, sqlguard.SQLite) },
		"no dialect":      func() (*sqlguard.Guard, error) { return sqlguard.New(db, 0) },
		"unknown dialect": func() (*sqlguard.Guard, error) { return sqlguard.New(db, 99) },
		"a nil option":    func() (*sqlguard.Guard, error) { return sqlguard.New(db, sqlguard.SQLite, nil) },
	} {
		if guard, err := construct(); !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("New with %s = %v, %v, want fence.ErrInvalid", what, guard, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Schema of an unknown dialect did not panic")
		}
	}()
	sqlguard.Schema(99)
}

// The guard panics itself: database/sql would panic with its mutex held, and the database would be unusable afterwards.
func TestNilContextPanics(t *testing.T) {
	t.Parallel()
	guard, err := sqlguard.New(new(sql.DB), sqlguard.SQLite)
	must(t, err)
	var none context.Context
	for what, call := range map[string]func(){
		"Claim": func() { _ = guard.Claim(none, "r", 34) },
		"Do":    func() { _ = guard.Do(none, "r", 34, func(*sql.Tx) error { return nil }) },
	} {
		func() {
			defer func() {
				if got := recover(); got != "sqlguard: nil context" {
					t.Errorf("%s: the panic is %v", what, got)
				}
			}()
			call()
		}()
	}
}
