package e2e

import (
	"context"
	"fmt"
	"testing"
)

// opening is the first entry of every ledger.
const opening = 100

// ledger is an account somewhere: its entries, and its balance, which should be their sum. It is
// changed as much code changes things: read, work, write what came out.
type ledger interface {
	// read returns the balance. With a guard it claims the account before, for the token that ctx
	// carries.
	read(ctx context.Context) (balance int64, err error)

	// book adds an entry and sets the balance to what the caller says, at once. With a guard that
	// is refused if the token of ctx is stale; without one the very same is written by whoever
	// comes.
	book(ctx context.Context, entry, balance int64) error

	// audit looks at everything, past the guard. Entries come in any order.
	audit(ctx context.Context) (balance int64, entries []int64, err error)

	Close() error
}

// place says where a ledger is and how it is used, to another process too.
type place struct {
	Store   string // the name of one of stores
	Source  string // what the store's driver needs to find it
	Account string
	Guarded bool
}

// store is a kind of place.
type store struct {
	name string

	// found makes a new ledger with its first entry, and returns its Source. It starts what is
	// needed for that.
	found func(t *testing.T, at place) (source string)

	open func(at place) (ledger, error)
}

var stores = []store{
	{"PostgreSQL", foundPostgres, openPostgres},
	{"MariaDB", foundMariaDB, openMariaDB},
	{"SQLite", foundSQLite, openSQLite},
	{"Redis", foundRedis, openRedis},
	{"HTTP", foundService, openService},
}

func (at place) open() (ledger, error) {
	for _, s := range stores {
		if s.name == at.Store {
			return s.open(at)
		}
	}
	return nil, fmt.Errorf("there is no store %q", at.Store)
}
