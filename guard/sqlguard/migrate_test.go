package sqlguard_test

import (
	"context"
	"database/sql"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/sqlguard"
)

// The part of docs/migrate/etcd.md with two fences is compiled, and not run. mutex replaces one of etcd.
var (
	guard *sqlguard.Guard
	mutex interface {
		Header() struct{ Revision int64 }
	}
	oldFence func(tx *sql.Tx, revision int64) error
	write    func(*sql.Tx) error
)

var _ = func(ctx context.Context, token fence.Token) error {
	// shown: migrate/etcd.md
	return guard.Do(ctx, "payroll", token, func(tx *sql.Tx) error {
		if err := oldFence(tx, mutex.Header().Revision); err != nil { // yours, as before
			return err
		}
		return write(tx)
	})
	// end
}
