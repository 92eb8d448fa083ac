package fence

import (
	"database/sql/driver"
	"fmt"
	"math"
)

// Value makes a token an argument of a database/sql statement, as a signed 64 bit integer (BIGINT,
// INTEGER). A token above 9223372036854775807 does not fit there: as a negative number it would
// compare as older than all others. Such a token, and the zero Token, give an error that is
// ErrInvalid.
func (t Token) Value() (driver.Value, error) {
	if !t.Valid() {
		return nil, errZero
	}
	if t > math.MaxInt64 {
		return nil, fmt.Errorf("%w: token %d does not fit a signed 64 bit column: at most %d does", ErrInvalid, t, int64(math.MaxInt64))
	}
	return int64(t), nil
}

// Scan sets t from an integer or a decimal text column. It refuses NULL, zero, negative numbers and
// floating point, which is not exact, with an error that is ErrInvalid; t is then
// unchanged.
func (t *Token) Scan(src any) error {
	switch column := src.(type) {
	case int64:
		if column <= 0 {
			return fmt.Errorf("%w: column holds %d: a token is at least 1", ErrInvalid, column)
		}
		*t = Token(column)
		return nil
	case uint64: // BIGINT UNSIGNED in MySQL
		if column == 0 {
			return errZero
		}
		*t = Token(column)
		return nil
	case []byte:
		return t.UnmarshalText(column)
	case string:
		return t.UnmarshalText([]byte(column))
	default:
		return fmt.Errorf("%w: column holds a %T: a token is an integer or its decimal text", ErrInvalid, src)
	}
}
