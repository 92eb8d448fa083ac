package faultproxy

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestRulesArePrintedAndReadAgain(t *testing.T) {
	t.Parallel()
	for text, rule := range map[string]Rule{
		`"": pass`:                                   {Do: Pass},
		`"evalsha" "ab" nth 1: hold request`:         {On: Match("EVALSHA", "ab"), Nth: 1, Do: HoldRequest},
		`"set" "a \"b\": c" "\n" nth 12: drop reply`: {On: Match("set", `a "b": c`, "\n"), Nth: 12, Do: DropReply},
		`"get": drop request`:                        {On: Match("get"), Do: DropRequest},
		`"get": hold reply`:                          {On: Match("get"), Do: HoldReply},
		`"get": duplicate request`:                   {On: Match("get"), Do: DuplicateRequest},
		`"get": cut before request`:                  {On: Match("get"), Do: CutBeforeRequest},
		`"get": cut after request`:                   {On: Match("get"), Do: CutAfterRequest},
		`"get": cut request at 0`:                    {On: Match("get"), Do: CutRequestAt(-1)},
		`"get": cut reply at 7`:                      {On: Match("get"), Do: CutReplyAt(7)},
		`"get": delay request 50ms`:                  {On: Match("get"), Do: DelayRequest(50 * time.Millisecond)},
		`"get": copy request 50ms`:                   {On: Match("get"), Do: CopyRequest(50 * time.Millisecond)},
		`"get": delay reply 1m0.5s`:                  {On: Match("get"), Do: DelayReply(time.Minute + time.Second/2)},
	} {
		if got := rule.String(); got != text {
			t.Errorf("printed %s, want %s", got, text)
		}
		got, err := ParseRule(text)
		if err != nil || got.String() != text || got.Nth != rule.Nth || got.Do != rule.Do ||
			got.On.command != rule.On.command || len(got.On.parts) != len(rule.On.parts) ||
			len(got.On.parts) > 0 && !reflect.DeepEqual(got.On.parts, rule.On.parts) {
			t.Errorf("%s was read as %#v, %v", text, got, err)
		}
	}
	if got := (Rule{}).String(); got != `"": pass` {
		t.Errorf("the zero rule is printed as %s", got)
	}
}

func TestWhatIsNoRule(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		``:                             "must begin with a command",
		`get: drop request`:            "must begin with a command",
		`"get`:                         "not closed",
		`"get"`:                        "no action",
		`"get":drop request`:           "no action",
		`"get" nth 0: drop request`:    "from 1",
		`"get" nth x: drop request`:    "from 1",
		`"get" 2: drop request`:        "from 1",
		`"get": lose request`:          "no action",
		`"get": cut request at`:        "no action",
		`"get": cut request at -1`:     "number of bytes",
		`"get": delay reply 5`:         "missing unit",
		`"get": drop request and more`: "no action",
	} {
		if r, err := ParseRule(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s was read as %v, %v; want an error with %q", text, r, err, why)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	args := []string{"EvalSha", "abcdef", "1", "my-lock", "owner"}
	for _, c := range []struct {
		m    Matcher
		want bool
	}{
		{Matcher{}, true},
		{Match(""), true},
		{Match("evalsha"), true},
		{Match("EVALSHA", "bcd", "lock"), true},
		{Match("", "owner"), true},
		{Match("eval"), false},
		{Match("evalsha", "bcd", "your-lock"), false},
		{Match("", "EvalSha"), false}, // the command is no argument
	} {
		if got := c.m.matches(args); got != c.want {
			t.Errorf("%s picks %q: %t, want %t", c.m, args, got, c.want)
		}
	}
	if Match("").matches(nil) {
		t.Error("a request without a command was picked")
	}
}
