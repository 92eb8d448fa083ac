package fence_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/redlock-go/redlock/fence"
)

var (
	_ encoding.TextMarshaler     = fence.Token(0)
	_ encoding.TextUnmarshaler   = (*fence.Token)(nil)
	_ encoding.BinaryMarshaler   = fence.Token(0)
	_ encoding.BinaryUnmarshaler = (*fence.Token)(nil)
)

func TestTokenJSONIsString(t *testing.T) {
	t.Parallel()
	type order struct {
		Token fence.Token `json:"token,omitempty"`
	}
	text, err := json.Marshal(order{Token: 1<<53 + 1})
	if err != nil || string(text) != `{"token":"9007199254740993"}` {
		t.Fatalf("Marshal = %s, %v", text, err)
	}
	var read order
	if err := json.Unmarshal(text, &read); err != nil || read.Token != 1<<53+1 {
		t.Errorf("Unmarshal(%s) = %d, %v", text, read.Token, err)
	}
	read.Token = 7
	if err := json.Unmarshal([]byte(`{"token":"0"}`), &read); !errors.Is(err, fence.ErrInvalid) || read.Token != 7 {
		t.Errorf("Unmarshal of token 0 = %d, %v, want it left at 7 and fence.ErrInvalid", read.Token, err)
	}
	if text, err := json.Marshal(order{}); err != nil || string(text) != `{}` {
		t.Errorf("Marshal of no token = %s, %v", text, err)
	}
}

func TestMarshalZeroFails(t *testing.T) {
	t.Parallel()
	if text, err := fence.Token(0).MarshalText(); !errors.Is(err, fence.ErrInvalid) {
		t.Errorf("MarshalText = %q, %v, want fence.ErrInvalid", text, err)
	}
	if data, err := fence.Token(0).MarshalBinary(); !errors.Is(err, fence.ErrInvalid) {
		t.Errorf("MarshalBinary = %x, %v, want fence.ErrInvalid", data, err)
	}
}

func TestByteOrderIsTokenOrder(t *testing.T) {
	t.Parallel()
	var last []byte
	for _, token := range []fence.Token{1, 2, 255, 256, 1 << 31, 1<<53 + 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64} {
		data, err := token.MarshalBinary()
		if err != nil || len(data) != 8 {
			t.Fatalf("MarshalBinary of %d = %x, %v, want 8 bytes", token, data, err)
		}
		if bytes.Compare(last, data) >= 0 {
			t.Errorf("bytes of %d are %x, not above %x of the token before", token, data, last)
		}
		var read fence.Token
		if err := read.UnmarshalBinary(data); err != nil || read != token {
			t.Errorf("UnmarshalBinary(%x) = %d, %v, want %d", data, read, err, token)
		}
		last = data
	}
}

func TestUnmarshalBinaryErrors(t *testing.T) {
	t.Parallel()
	for _, data := range [][]byte{nil, {1}, make([]byte, 8), {0, 0, 0, 0, 0, 0, 0, 0, 1}} {
		token := fence.Token(7)
		if err := token.UnmarshalBinary(data); !errors.Is(err, fence.ErrInvalid) || token != 7 {
			t.Errorf("UnmarshalBinary(%x) = %v with token %d, want it left at 7 and fence.ErrInvalid", data, err, token)
		}
	}
}
