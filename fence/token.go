package fence

import (
	"fmt"
	"strconv"
)

// Token is a fencing token: a number that grows with every fresh acquisition of a lock. Two tokens
// of one lock name have an order; their difference means nothing. The zero Token is invalid and
// older than any other.
type Token uint64

// Valid reports whether t is not zero. No lock has the zero token.
func (t Token) Valid() bool { return t != 0 }

// String returns t in decimal, the form that Parse reads.
func (t Token) String() string { return strconv.FormatUint(uint64(t), 10) }

// Parse reads the decimal form of a token. It refuses zero, signs, spaces, leading zeros and
// anything else that String would not write, with an error that is ErrInvalid.
func Parse(s string) (Token, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || s[0] == '0' {
		return 0, fmt.Errorf("%w: %q is not a token: a decimal number from 1 to 18446744073709551615 is", ErrInvalid, s)
	}
	return Token(n), nil
}
