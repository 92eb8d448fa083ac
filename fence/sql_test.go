package fence_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"math"
	"testing"

	"github.com/redlock-go/redlock/fence"
)

var (
	_ driver.Valuer = fence.Token(0)
	_ sql.Scanner   = (*fence.Token)(nil)
)

func TestValueFitsBigint(t *testing.T) {
	t.Parallel()
	for _, token := range []fence.Token{1, 1<<53 + 1, math.MaxInt64} {
		if value, err := token.Value(); err != nil || value != int64(token) {
			t.Errorf("Value of %d = %v, %v", token, value, err)
		}
	}
	for _, token := range []fence.Token{0, math.MaxInt64 + 1, math.MaxUint64} {
		if value, err := token.Value(); !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("Value of %d = %v, %v, want fence.ErrInvalid", token, value, err)
		}
	}
}

func TestScan(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		column any
		want   fence.Token // 0 where it is refused
	}{
		{int64(1), 1},
		{int64(math.MaxInt64), math.MaxInt64},
		{uint64(math.MaxUint64), math.MaxUint64},
		{[]byte("9007199254740993"), 1<<53 + 1},
		{"9007199254740993", 1<<53 + 1},
		{nil, 0},
		{int64(0), 0},
		{int64(-1), 0},
		{uint64(0), 0},
		{float64(1), 0},
		{"", 0},
		{"-1", 0},
		{true, 0},
	} {
		token := fence.Token(7)
		err := token.Scan(row.column)
		if row.want == 0 {
			if !errors.Is(err, fence.ErrInvalid) || token != 7 {
				t.Errorf("Scan(%T %v) = %v with token %d, want it left at 7 and fence.ErrInvalid", row.column, row.column, err, token)
			}
		} else if err != nil || token != row.want {
			t.Errorf("Scan(%T %v) = %v with token %d, want %d", row.column, row.column, err, token, row.want)
		}
	}
}
