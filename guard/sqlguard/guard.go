package sqlguard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/redlock-go/redlock/fence"
)

// Guard guards the data of one database. It is safe for concurrent use, and keeps no fences itself:
// any number of guards, in any number of processes, share the fences of one database.
type Guard struct {
	db         *sql.DB
	statements statements
	database   atomic.Pointer[string] // the database of the first fence, if the connection decides which database is used
}

var _ fence.Guard = (*Guard)(nil)

// New returns a guard for db, which has the given dialect and the table that Schema makes
// with the same options. It sends nothing to the database.
func New(db *sql.DB, dialect Dialect, options ...Option) (*Guard, error) {
	if db == nil {
		return nil, fmt.Errorf("%w: db is nil: an open database is needed", fence.ErrInvalid)
	}
	statements, err := statementsFor(dialect, options)
	if err != nil {
		return nil, err
	}
	return &Guard{db: db, statements: statements}, nil
}

// Claim raises the fence of resource to token, in a transaction of its own; see fence.Guard. Its
// errors are those of Do.
func (g *Guard) Claim(ctx context.Context, resource string, token fence.Token) error {
	if ctx == nil {
		panic("sqlguard: nil context")
	}
	if err := validate(resource, token); err != nil {
		return err
	}
	for {
		tx, err := g.enter(ctx, resource, token)
		if err != nil {
			return err
		}
		err = tx.Commit()
		if err == nil {
			return nil
		}
		// A retry of a claim is safe: a claim has no func that would run twice.
		if !passes(err) || !pause(ctx) {
			return fmt.Errorf("sqlguard: commit of a claim of %q: %w", resource, because(ctx, err))
		}
	}
}

// Do runs write in a transaction that has checked token, raised the fence of resource to token, and
// keeps the fence locked until the end. It commits if write returns nil. If write returns an error
// or panics, everything is rolled back, the fence too. A holder that reads data before Do must call
// Claim before it reads. A holder that reads only inside the func write need not call Claim.
//
// write must use tx for all it does, close the rows that it reads, and leave the end of tx to Do.
// If write calls the guard, that call may wait for the end of this transaction, and so until ctx ends.
//
// Do returns a *fence.StaleError if token is stale, and one that is fence.ErrInvalid for invalid input: in both cases
// write has not run. An error of write is returned as it is. If the commit fails, but was not refused by the database
// (the connection broke, for example), it may have happened. When ctx ends, the transaction is rolled back, and the
// error wraps ctx.Err() unless it is the error of write. If the transaction ended before write returned, the error is
// sql.ErrTxDone. A statement that fails, or that commits by itself, may end the transaction: see the package comment.
func (g *Guard) Do(ctx context.Context, resource string, token fence.Token, write func(tx *sql.Tx) error) error {
	if ctx == nil {
		panic("sqlguard: nil context")
	}
	if err := validate(resource, token); err != nil {
		return err
	}
	if write == nil {
		return fmt.Errorf("%w: write is nil: use Claim to raise the fence alone", fence.ErrInvalid)
	}
	tx, err := g.enter(ctx, resource, token)
	if err != nil {
		return err
	}
	// Rolls back on every return and on a panic, but does nothing after a commit.
	defer func() { _ = tx.Rollback() }()

	if err := g.during(ctx, tx, write); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("sqlguard: commit of a write to %q: %w", resource, because(ctx, err))
	}
	return nil
}

// during runs write, and returns an error if the transaction ended before write returned.
func (g *Guard) during(ctx context.Context, tx *sql.Tx, write func(tx *sql.Tx) error) error {
	if g.statements.mark == "" {
		return write(tx)
	}
	if _, err := tx.ExecContext(ctx, g.statements.mark); err != nil {
		return fmt.Errorf("sqlguard: savepoint: %w", because(ctx, err))
	}
	if err := write(tx); err != nil {
		return err
	}
	switch _, err := tx.ExecContext(ctx, g.statements.marked); {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "Error 1305"): // no such savepoint
		return fmt.Errorf("sqlguard: a statement of the func ended the transaction, with the fence in it: %w", sql.ErrTxDone)
	default:
		return fmt.Errorf("sqlguard: savepoint: %w", because(ctx, err))
	}
}

func validate(resource string, token fence.Token) error {
	if err := fence.Validate(resource, token); err != nil {
		return err
	}
	if _, err := token.Value(); err != nil {
		return err
	}
	const longest = 255 // the size of the column in MySQL
	if len(resource) > longest {
		return fmt.Errorf("%w: resource has %d bytes: at most %d fit", fence.ErrInvalid, len(resource), longest)
	}
	if !utf8.ValidString(resource) || strings.Contains(resource, "\x00") {
		return fmt.Errorf("%w: resource %q must be valid UTF-8 without zero bytes", fence.ErrInvalid, resource)
	}
	return nil
}

// because adds ctx's error and cause to err if ctx has ended. Each driver reports the end of a
// context in its own way. The cause of a lock's context is the reason why the hold ended.
func because(ctx context.Context, err error) error {
	ended, cause := ctx.Err(), context.Cause(ctx)
	if ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	if ended != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
