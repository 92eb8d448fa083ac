package sqlguard

import "strings"

// Dialect is the kind of a database.
type Dialect int

// The dialects. There is no default.
const (
	PostgreSQL Dialect = iota + 1
	MySQL              // and MariaDB
	SQLite
)

// statements are what a dialect needs. Each takes the row's lock, and makes an insert that meets
// another one of the same resource wait for that.
type statements struct {
	schema string
	limit  string // what bounds a transaction from its begin; "": nothing does
	// raise sets the fence to the higher of itself and the token. It does so for a stale token too:
	// what counts is that the row is locked after it.
	raise string
	// read gives the fence after raise, where raise does not return it, and the database that the
	// fence is in. It is a locking read, so that it does not depend on when the snapshot was taken.
	read string
	// created is for databases in which a temporary table hides another one even from those who
	// name its schema: it tells which of the two raise met.
	created string
	// mark and marked are for databases whose server can end a transaction in the middle and go on
	// as if nothing was: marked fails if the transaction is not the one any more in which mark was.
	mark, marked string
}

// dialect is what the package knows of one kind of database. Its statements have {table} where the
// name of the table goes, and {database} where the database that it is in.
type dialect struct {
	statements
	quote     string // around each part of a name, so that no word is reserved
	schema    string // of a table that is named without one; "" is the connection's
	temporary string // how the names of schemas begin whose tables each connection has for itself
}

// on returns the statements for one table.
func (d dialect) on(schema, name string) statements {
	table, database := d.quote+name+d.quote, "DATABASE()"
	if schema != "" {
		table, database = d.quote+schema+d.quote+"."+table, "'"+schema+"'"
	}
	names := strings.NewReplacer("{table}", table, "{database}", database)
	s := d.statements
	for _, statement := range []*string{&s.schema, &s.raise, &s.read, &s.created} {
		*statement = names.Replace(*statement)
	}
	return s
}

var dialects = map[Dialect]dialect{
	PostgreSQL: {
		quote:     `"`,
		schema:    "public",
		temporary: "pg_", // pg_temp and pg_temp_3, say; others with it are the server's own
		statements: statements{
			schema: `CREATE TABLE IF NOT EXISTS {table} (
	resource TEXT COLLATE "C" NOT NULL PRIMARY KEY,
	token BIGINT NOT NULL
)`,
			raise: `INSERT INTO {table} AS fence (resource, token) VALUES ($1, $2)
ON CONFLICT (resource) DO UPDATE SET token = GREATEST(fence.token, EXCLUDED.token)
RETURNING token`,
		},
	},
	// VARBINARY, because the texts of MySQL are compared without regard to case or to spaces at the
	// end. The token is an argument twice because MySQL and MariaDB have no common name for the row
	// that was refused.
	MySQL: {
		quote: "`",
		statements: statements{
			schema: `CREATE TABLE IF NOT EXISTS {table} (
	resource VARBINARY(255) NOT NULL PRIMARY KEY,
	token BIGINT NOT NULL
) ENGINE=InnoDB`,
			raise: `INSERT INTO {table} (resource, token) VALUES (?, ?)
ON DUPLICATE KEY UPDATE token = GREATEST(token, ?)`,
			read:    `SELECT token, {database} FROM {table} WHERE resource = ? FOR UPDATE`,
			created: `SHOW CREATE TABLE {table}`,

			mark:   `SAVEPOINT redlock_fence`,
			marked: `RELEASE SAVEPOINT redlock_fence`,
		},
	},
	SQLite: {
		quote:     `"`,
		schema:    "main",
		temporary: "temp",
		statements: statements{
			schema: `CREATE TABLE IF NOT EXISTS {table} (
	resource TEXT NOT NULL PRIMARY KEY,
	token INTEGER NOT NULL
)`,
			raise: `INSERT INTO {table} (resource, token) VALUES (?, ?)
ON CONFLICT (resource) DO UPDATE SET token = max(token, excluded.token)
RETURNING token`,
		},
	},
}
