package fence_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/fence"
)

func TestTokenStringRoundTrip(t *testing.T) {
	t.Parallel()
	for _, token := range []fence.Token{1, 9, 10, 1<<53 + 1, math.MaxInt64, math.MaxUint64} {
		got, err := fence.Parse(token.String())
		if err != nil || got != token {
			t.Errorf("Parse(%q) = %d, %v", token.String(), got, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "0", "00", "01", "+1", "-1", " 1", "1 ", "1_0", "0x1", "1e3", "1.0", "one", "18446744073709551616"} {
		got, err := fence.Parse(text)
		if !errors.Is(err, fence.ErrInvalid) || got != 0 {
			t.Errorf("Parse(%q) = %d, %v, want 0 and fence.ErrInvalid", text, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), `"`+text+`"`) {
			t.Errorf("the error of Parse(%q) does not name it: %v", text, err)
		}
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	if fence.Token(0).Valid() {
		t.Error("the zero token is valid")
	}
	if !fence.Token(1).Valid() {
		t.Error("token 1 is not valid")
	}
}
