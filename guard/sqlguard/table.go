package sqlguard

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/redlock-go/redlock/fence"
)

const defaultTable = "redlock_fences"

// Option is an option of New and Schema. Both must get the same options.
type Option func(*settings)

type settings struct {
	table  string
	limits []time.Duration // nil: none; else idle and wait
}

// WithLimits bounds the guard's transactions in PostgreSQL. A holder that is stopped in the middle of a transaction
// would block all later holders until it continues. With limits, the server ends a transaction that sends nothing for
// the duration idle, which should be about the lock's ttl. The server also ends a statement that waits for a row for
// longer than the duration wait, be it the row of the fence or a row that the func uses. Both durations must be at
// least a millisecond. The limits cost a round trip.
//
// MySQL and MariaDB have no such settings for one transaction: set them in the data source name, as
// docs/FENCING.md shows.
func WithLimits(idle, wait time.Duration) Option {
	return func(s *settings) { s.limits = []time.Duration{idle, wait} }
}

// WithTable names the table of the fences, redlock_fences by default. The name is "schema.table",
// or "table". A table without a schema is in the schema public of PostgreSQL, in main of SQLite,
// and in the connection's database in MySQL and MariaDB, whose databases take the place of schemas.
// Schema and table have ASCII letters, digits and underscores, at most 63 characters each, and keep
// their upper and lower case. A schema of temporary tables is refused.
//
// All writers of the same data must use the same table.
func WithTable(name string) Option {
	return func(s *settings) { s.table = name }
}

var tableName = regexp.MustCompile(`^(?:(\w{1,63})\.)?(\w{1,63})$`)

// statementsFor returns the statements of a dialect for the table that the options name.
func statementsFor(d Dialect, options []Option) (statements, error) {
	dialect, ok := dialects[d]
	if !ok {
		return statements{}, fmt.Errorf("%w: dialect is %d: must be PostgreSQL, MySQL or SQLite", fence.ErrInvalid, d)
	}
	s := settings{table: defaultTable}
	for i, option := range options {
		if option == nil {
			return statements{}, fmt.Errorf("%w: options[%d] is nil", fence.ErrInvalid, i)
		}
		option(&s)
	}
	parts := tableName.FindStringSubmatch(s.table)
	if parts == nil {
		return statements{}, fmt.Errorf("%w: table is %q: must be a name, or a schema and a name with a dot between them, each of 1 to 63 ASCII letters, digits and underscores",
			fence.ErrInvalid, s.table)
	}
	schema, name := parts[1], parts[2]
	if schema == "" {
		schema = dialect.schema
	}
	if dialect.temporary != "" && strings.HasPrefix(strings.ToLower(schema), dialect.temporary) {
		return statements{}, fmt.Errorf("%w: table is %q: schema %q must not be one of temporary tables, which no other connection sees", fence.ErrInvalid, s.table, schema)
	}
	made := dialect.on(schema, name)
	if s.limits != nil {
		if d != PostgreSQL || min(s.limits[0], s.limits[1]) < time.Millisecond {
			return statements{}, fmt.Errorf("%w: limits are %v: must be for PostgreSQL, and a millisecond at least", fence.ErrInvalid, s.limits)
		}
		made.limit = fmt.Sprintf("SELECT set_config('idle_in_transaction_session_timeout', '%d', true), set_config('lock_timeout', '%d', true)",
			s.limits[0].Milliseconds(), s.limits[1].Milliseconds())
	}
	return made, nil
}

// Schema returns the statement that makes the table of the fences. If the table exists, the
// statement does nothing. It is a single statement, for a migration tool or for db.Exec. In
// PostgreSQL, if two connections run it at the same time, one of them may fail (SQLSTATE 23505,
// 42710 or 42P07): make the table before the processes start, or run the statement again. Schema
// panics on input that New refuses: an unknown dialect, or an invalid table.
func Schema(dialect Dialect, options ...Option) string {
	statements, err := statementsFor(dialect, options)
	if err != nil {
		panic("sqlguard: " + err.Error())
	}
	return statements.schema
}
