package sqlguard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/fence"
)

// retryDelay is the longest pause between two tries to take a fence. Each pause is random, so that
// writers do not stay in lockstep. In most databases the writers queue, and seldom need a second
// try. In SQLite without a busy_timeout they need many.
const retryDelay = 5 * time.Millisecond

// enter begins a transaction, in which it locks the fence and raises it to token. It tries until it
// succeeds, the token proves stale, ctx ends, or an error occurs that a further try would not cure.
func (g *Guard) enter(ctx context.Context, resource string, token fence.Token) (*sql.Tx, error) {
	began := time.Now()
	var locked bool // whether another transaction has kept a try from the row
	for {
		tx, err := g.db.BeginTx(ctx, nil)
		if err == nil {
			var highest fence.Token
			highest, err = g.lock(ctx, tx, resource, token)
			if err == nil && token >= highest {
				return tx, nil
			}
			_ = tx.Rollback()
			if err == nil {
				return nil, &fence.StaleError{Resource: resource, Token: token, Highest: highest}
			}
			locked = locked || ctx.Err() != nil
		}
		locked = locked || passes(err) || waited(err)
		if passes(err) && pause(ctx) {
			continue
		}
		if locked && (ctx.Err() != nil || waited(err)) {
			err = fmt.Errorf("waited %v for the row of the fence, which another transaction has: %w",
				max(time.Since(began), time.Millisecond).Round(time.Millisecond), err)
		}
		return nil, fmt.Errorf("sqlguard: claim of %q: %w", resource, because(ctx, err))
	}
}

// lock locks the row of the fence, and raises it to token if that is higher. It returns the fence.
func (g *Guard) lock(ctx context.Context, tx *sql.Tx, resource string, token fence.Token) (fence.Token, error) {
	if g.statements.limit != "" {
		if _, err := tx.ExecContext(ctx, g.statements.limit); err != nil {
			return 0, err
		}
	}
	return g.raise(ctx, tx, resource, token)
}

// waited reports whether err means that a statement waited for a row for as long as the database allows.
func waited(err error) bool {
	return matchesOneOf(err, []string{"55P03"}, []string{"Error 1205", "database is locked"})
}

func (g *Guard) raise(ctx context.Context, tx *sql.Tx, resource string, token fence.Token) (highest fence.Token, err error) {
	if g.statements.read == "" {
		err = tx.QueryRowContext(ctx, g.statements.raise, resource, token).Scan(&highest)
		return highest, explained(err)
	}
	if _, err := tx.ExecContext(ctx, g.statements.raise, resource, token, token); err != nil {
		return 0, explained(err)
	}
	var database string
	if err := tx.QueryRowContext(ctx, g.statements.read, resource).Scan(&highest, &database); err != nil {
		return 0, err
	}
	return highest, errors.Join(g.sameDatabase(database), g.shared(ctx, tx))
}

// sameDatabase returns an error if database, which has the raised fence, is not that of the guard's first fence.
func (g *Guard) sameDatabase(database string) error {
	g.database.CompareAndSwap(nil, &database)
	if first := *g.database.Load(); database != first {
		return fmt.Errorf("the connection is in database %q and an earlier one was in %q, as after a USE: name the database in WithTable", database, first)
	}
	return nil
}

// shared returns an error if the raised fence is in a temporary table. Only this connection could
// make such a table, so no such table appears between the raise of the fence and this check.
func (g *Guard) shared(ctx context.Context, tx *sql.Tx) error {
	var name, created string
	if err := tx.QueryRowContext(ctx, g.statements.created).Scan(&name, &created); err != nil {
		return err
	}
	if !strings.HasPrefix(created, "CREATE TABLE ") {
		return fmt.Errorf("a temporary table %s of this connection hides the fences: drop it", name)
	}
	return nil
}

// explained adds advice to an error about a missing table.
func explained(err error) error {
	if err != nil && missing(err) {
		return fmt.Errorf("the table of the fences is missing: run the statement of sqlguard.Schema: %w", err)
	}
	return err
}

// pause waits, so that other writers can go first. It returns false if ctx has ended.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(rand.N(retryDelay)):
		return true
	case <-ctx.Done():
		return false
	}
}

// passes reports whether err is a collision with another transaction, after which a retry may
// succeed. It is called only before a func of the caller has run, so a wrong result only makes the
// guard try once too often, or give up too early.
func passes(err error) bool {
	return matchesOneOf(err,
		[]string{"40001", "40P01"}, // serialization failure, deadlock
		[]string{
			"Error 1213",               // MySQL: deadlock, which racing first inserts may meet
			"database is locked",       // SQLITE_BUSY
			"database table is locked", // SQLITE_LOCKED, with a shared cache
		})
}

// missing reports whether err means that there is no such table, or no such schema. A wrong result affects only a hint
// in an error.
func missing(err error) bool {
	return matchesOneOf(err,
		[]string{"42P01", "3F000"}, // no table, no schema
		[]string{
			"Error 1146", "Error 1049", // MySQL: no table, no database
			"no such table", "unknown database", // SQLite
		})
}

// matchesOneOf reports whether err has one of the SQLSTATEs. If err has no SQLSTATE, matchesOneOf searches
// its text for the words, because the drivers' types are not imported.
func matchesOneOf(err error, states, words []string) bool {
	var postgres interface{ SQLState() string }
	if errors.As(err, &postgres) {
		return slices.Contains(states, postgres.SQLState())
	}
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(err.Error(), w) })
}
