package sqlguard

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/redlock-go/redlock/fence"
)

const defaultTable = "redlock_fences"

// Option is an option of New, and of Schema, which must be given the same.
type Option func(*settings)

type settings struct{ table string }

// WithTable names the table of the fences, redlock_fences by default: as "schema.table", or as
// "table" in the schema public of PostgreSQL, in main of SQLite, or in the database of the
// connection of MySQL and MariaDB, whose databases take the place of schemas. Schema and table have
// letters of ASCII, digits and underscores, at most 63 each, and are taken as they are written, in
// upper and lower case. A schema of temporary tables is refused.
//
// All who write the same data must use the same table.
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
	return dialect.on(schema, name), nil
}

// Schema returns the statement that makes the table of the fences, and does nothing if it is there.
// It is one statement, for a migration tool or for db.Exec. In PostgreSQL, if two connections run
// it at the same time, one of them may fail (SQLSTATE 23505, 42710 or 42P07): make the table before
// the processes start, or run the statement again. Schema panics on what New refuses: a dialect
// that is none of the constants, or a table that cannot be.
func Schema(dialect Dialect, options ...Option) string {
	statements, err := statementsFor(dialect, options)
	if err != nil {
		panic("sqlguard: " + err.Error())
	}
	return statements.schema
}
