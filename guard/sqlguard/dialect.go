package sqlguard

import "fmt"

// Dialect is the kind of a database.
type Dialect int

// The dialects. There is no default.
const (
	PostgreSQL Dialect = iota + 1
	MySQL              // and MariaDB
	SQLite
)

// statements are what a dialect needs. Each takes the row's lock, and makes an
// insert that meets another one of the same resource wait for that.
type statements struct {
	schema string
	// raise sets the fence to the higher of itself and the token. It does so
	// for a stale token too: what counts is that the row is locked after it.
	raise string
	// read gives the fence after raise, where raise does not return it. It is
	// a locking read, so that it does not depend on when the snapshot was taken.
	read string
	// mark and marked are for databases whose server can end a transaction in
	// the middle and go on as if nothing was: marked fails if the transaction
	// is not the one any more in which mark was.
	mark, marked string
}

var dialects = map[Dialect]statements{
	PostgreSQL: {
		schema: `CREATE TABLE IF NOT EXISTS redlock_fences (
	resource TEXT COLLATE "C" NOT NULL PRIMARY KEY,
	token BIGINT NOT NULL
)`,
		raise: `INSERT INTO redlock_fences AS fence (resource, token) VALUES ($1, $2)
ON CONFLICT (resource) DO UPDATE SET token = GREATEST(fence.token, EXCLUDED.token)
RETURNING token`,
	},
	// VARBINARY, because the texts of MySQL are compared without regard to
	// case or to spaces at the end. The token is an argument twice because
	// MySQL and MariaDB have no common name for the row that was refused.
	MySQL: {
		schema: `CREATE TABLE IF NOT EXISTS redlock_fences (
	resource VARBINARY(255) NOT NULL PRIMARY KEY,
	token BIGINT NOT NULL
) ENGINE=InnoDB`,
		raise: `INSERT INTO redlock_fences (resource, token) VALUES (?, ?)
ON DUPLICATE KEY UPDATE token = GREATEST(token, ?)`,
		read: `SELECT token FROM redlock_fences WHERE resource = ? FOR UPDATE`,

		mark:   `SAVEPOINT redlock_fence`,
		marked: `RELEASE SAVEPOINT redlock_fence`,
	},
	SQLite: {
		schema: `CREATE TABLE IF NOT EXISTS redlock_fences (
	resource TEXT NOT NULL PRIMARY KEY,
	token INTEGER NOT NULL
)`,
		raise: `INSERT INTO redlock_fences (resource, token) VALUES (?, ?)
ON CONFLICT (resource) DO UPDATE SET token = max(token, excluded.token)
RETURNING token`,
	},
}

// Schema returns the statement that makes the table of the fences, and does
// nothing if it is there. It is one statement, for a migration tool or for
// db.Exec. In PostgreSQL, of two of them at once that make the table one may
// fail (SQLSTATE 23505, 42710 or 42P07): make it before the processes start, or
// do it again.
// Schema panics if dialect is none of the constants.
func Schema(dialect Dialect) string {
	statements, ok := dialects[dialect]
	if !ok {
		panic(fmt.Sprintf("sqlguard: there is no dialect %d", dialect))
	}
	return statements.schema
}
