package fence

import (
	"encoding/binary"
	"fmt"
)

// MarshalText returns the decimal form, as String does. So a token in JSON is a string: many parsers
// lose the last digits of a number above 2^53. MarshalText refuses the zero Token with an error that
// is ErrInvalid, so that nothing is stored that UnmarshalText cannot read.
func (t Token) MarshalText() ([]byte, error) {
	if !t.Valid() {
		return nil, errZero
	}
	return []byte(t.String()), nil
}

// UnmarshalText parses text as Parse does. On an error t is unchanged.
func (t *Token) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

// MarshalBinary returns eight bytes, big endian, so that the order of the bytes is the order of the
// tokens: stores that compare raw keys or values can compare tokens. It refuses the zero Token with
// an error that is ErrInvalid.
//
// Some clients, such as go-redis, use this method to encode an argument. To store a token in
// decimal, pass the token's String() to such a client.
func (t Token) MarshalBinary() ([]byte, error) {
	if !t.Valid() {
		return nil, errZero
	}
	return binary.BigEndian.AppendUint64(nil, uint64(t)), nil
}

// UnmarshalBinary reads the form of MarshalBinary: exactly eight bytes, not all of them zero. On an
// error, which is ErrInvalid, t is unchanged.
func (t *Token) UnmarshalBinary(data []byte) error {
	if len(data) != 8 {
		return fmt.Errorf("%w: a binary token has 8 bytes, not %d", ErrInvalid, len(data))
	}
	read := Token(binary.BigEndian.Uint64(data))
	if !read.Valid() {
		return errZero
	}
	*t = read
	return nil
}
