package sqlguard

import "strings"

// Dialect is a kind of database.
type Dialect int

// The dialects. There is no default.
const (
	PostgreSQL Dialect = iota + 1
	MySQL              // and MariaDB
	SQLite
)

// statements are the statements of a dialect for one table. In every dialect they lock the row of the fence, and
// make a concurrent insert for the same resource wait.
type statements struct {
	schema string
	limit  string // bounds a transaction from its begin; "": no bounds
	// raise sets the fence to the higher of the present fence and the token. It runs for a stale token too, because it
	// also locks the row.
	raise string
	// read is for dialects in which raise returns nothing. It returns the fence, and the database that the fence is in.
	// It locks, so that its result does not depend on when the transaction's snapshot was taken.
	read string
	// created is for databases in which a temporary table hides another table even if the schema is
	// named. The result shows which of the two tables raise has used.
	created string
	// mark and marked are for databases that can end a transaction in the middle and run its remaining statements without
	// an error. marked fails if mark did not run in the same transaction.
	mark, marked string
}

// dialect describes one kind of database. Its statements have {table} for the name of the table,
// and {database} for the table's database.
type dialect struct {
	statements
	quote     string // put around each part of a name, so that reserved words are allowed
	schema    string // the schema of a table whose name has none; "": the schema of the connection
	temporary string // the prefix of schemas whose tables are private to a connection
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
		temporary: "pg_", // for example pg_temp and pg_temp_3; the others are the server's own
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
	// resource is VARBINARY, because MySQL compares texts without regard to case or to spaces at the end. raise gets
	// the token twice, because MySQL and MariaDB have no common syntax for the row that was not inserted.
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
