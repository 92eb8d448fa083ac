package sqlguard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redlock-go/redlock/fence"
)

// retryDelay is the longest time between two tries to take a fence; each waits
// for a random part of it, so that writers do not stay in lockstep. Databases
// that let writers queue need no second try, so this is the pace of SQLite
// without a busy_timeout.
const retryDelay = 5 * time.Millisecond

// enter begins a transaction that has the fence locked and raised to token. It
// tries until it succeeds, the token proves stale, ctx ends, or there is an
// error that a further try would not cure.
func (g *Guard) enter(ctx context.Context, resource string, token fence.Token) (*sql.Tx, error) {
	for {
		tx, highest, err := g.tryEnter(ctx, resource, token)
		if err == nil && token < highest {
			_ = tx.Rollback()
			return nil, &fence.StaleError{Resource: resource, Token: token, Highest: highest}
		}
		if err == nil {
			return tx, nil
		}
		if !passes(err) || !pause(ctx) {
			return nil, fmt.Errorf("sqlguard: claim of %q: %w", resource, because(ctx, err))
		}
	}
}

// tryEnter leaves no transaction open if it returns an error.
func (g *Guard) tryEnter(ctx context.Context, resource string, token fence.Token) (*sql.Tx, fence.Token, error) {
	tx, err := g.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, 0, err
	}
	highest, err := g.raise(ctx, tx, resource, token)
	if err != nil {
		_ = tx.Rollback()
		return nil, 0, err
	}
	return tx, highest, nil
}

func (g *Guard) raise(ctx context.Context, tx *sql.Tx, resource string, token fence.Token) (highest fence.Token, err error) {
	if g.statements.read == "" {
		err = tx.QueryRowContext(ctx, g.statements.raise, resource, token).Scan(&highest)
		return highest, err
	}
	if _, err := tx.ExecContext(ctx, g.statements.raise, resource, token, token); err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, g.statements.read, resource).Scan(&highest)
	return highest, err
}

// pause lets the others go first. It reports whether ctx is still alive.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(rand.N(retryDelay)):
		return true
	case <-ctx.Done():
		return false
	}
}

// passes reports whether err is a collision with another transaction, after
// which the same may succeed. Without the drivers' types their words must do,
// where they offer no SQLSTATE. That is good enough here: it is not asked once
// a func of the caller has run, so a wrong answer costs a try too many, or too
// few.
func passes(err error) bool {
	var postgres interface{ SQLState() string }
	if errors.As(err, &postgres) {
		state := postgres.SQLState()
		return state == "40001" || state == "40P01" // serialization failure, deadlock
	}
	for _, collision := range []string{
		"Error 1213",               // MySQL: deadlock, which racing first inserts may meet
		"database is locked",       // SQLITE_BUSY
		"database table is locked", // SQLITE_LOCKED, with a shared cache
	} {
		if strings.Contains(err.Error(), collision) {
			return true
		}
	}
	return false
}
