package embedded

import (
	"encoding/json"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// toLua converts a reply as Redis does for scripts.
func toLua(l *lua.LState, r reply) lua.LValue {
	switch r.kind {
	case integer:
		return lua.LNumber(r.n)
	case bulk:
		return lua.LString(r.text)
	case status:
		return tableOf(l, "ok", r.text)
	case failure:
		return tableOf(l, "err", r.text)
	case array:
		t := l.CreateTable(len(r.items), 0)
		for _, item := range r.items {
			t.Append(toLua(l, item))
		}
		return t
	}
	return lua.LFalse
}

func tableOf(l *lua.LState, name, text string) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString(name, lua.LString(text))
	return t
}

func stringsToLua(l *lua.LState, all []string) *lua.LTable {
	t := l.CreateTable(len(all), 0)
	for _, s := range all {
		t.Append(lua.LString(s))
	}
	return t
}

// fromLua converts what a script returned as Redis does: numbers lose what is behind the point, and
// an array ends before its first nil.
func fromLua(value lua.LValue) reply {
	switch v := value.(type) {
	case lua.LNumber:
		return number(int64(v))
	case lua.LString:
		return text(string(v))
	case lua.LBool:
		if v {
			return number(1)
		}
	case *lua.LTable:
		if s, is := v.RawGetString("err").(lua.LString); is {
			return failed(string(s))
		}
		if s, is := v.RawGetString("ok").(lua.LString); is {
			return simple(string(s))
		}
		items := make([]reply, 0, v.Len())
		for i := 1; ; i++ {
			item := v.RawGetInt(i)
			if item == lua.LNil {
				return arrayOf(items...)
			}
			items = append(items, fromLua(item))
		}
	}
	return reply{}
}

// toNumber is tonumber without a base. That of the library knows no exponents, and takes long to
// say that a text is none.
func toNumber(value lua.LValue) lua.LValue {
	s, is := value.(lua.LString)
	if !is {
		if _, is := value.(lua.LNumber); is {
			return value
		}
		return lua.LNil
	}
	text := strings.TrimSpace(string(s))
	if n, are := digits(text); are {
		return lua.LNumber(n)
	}
	if text == "" || !strings.ContainsRune("0123456789+-.", rune(text[0])) {
		return lua.LNil
	}
	if hex, is := strings.CutPrefix(strings.ToLower(text), "0x"); is {
		if n, err := strconv.ParseUint(hex, 16, 64); err == nil {
			return lua.LNumber(n)
		}
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return lua.LNumber(f)
	}
	return lua.LNil
}

// digits reads a text of 1 to 15 digits.
func digits(s string) (n int64, are bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = 10*n + int64(s[i]-'0')
	}
	return n, len(s) > 0 && len(s) <= 15
}

// format is string.format for what is simple: %s, %d and %.0f, each with a text or a whole number.
// It is false for all else. That of the library takes as long as all the rest of a script.
func format(l *lua.LState) (formatted string, simple bool) {
	pattern, is := l.Get(1).(lua.LString)
	if !is {
		return "", false
	}
	var b []byte
	arg := 2
	for rest := string(pattern); ; arg++ {
		plain, verb, more := strings.Cut(rest, "%")
		b = append(b, plain...)
		if !more {
			return string(b), true
		}
		text, isText := l.Get(arg).(lua.LString)
		n, isNumber := l.Get(arg).(lua.LNumber)
		isNumber = isNumber && n > -1e15 && n < 1e15 && n == lua.LNumber(int64(n))
		after, whole := strings.CutPrefix(verb, "d")
		if !whole {
			after, whole = strings.CutPrefix(verb, ".0f")
		}
		switch {
		case whole && isNumber:
		case !whole && strings.HasPrefix(verb, "s") && (isText || isNumber):
			after = verb[1:]
		default:
			return "", false
		}
		if isText {
			b = append(b, text...)
		} else {
			b = strconv.AppendInt(b, int64(n), 10)
		}
		rest = after
	}
}

// jsonToLua is cjson.decode.
func jsonToLua(l *lua.LState) int {
	var value any
	if err := json.Unmarshal([]byte(l.CheckString(1)), &value); err != nil {
		l.RaiseError("%s", err.Error())
	}
	l.Push(decoded(l, value))
	return 1
}

func decoded(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case bool:
		return lua.LBool(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		t := l.CreateTable(len(v), 0)
		for _, item := range v {
			t.Append(decoded(l, item))
		}
		return t
	case map[string]any:
		t := l.CreateTable(0, len(v))
		for name, item := range v {
			t.RawSetString(name, decoded(l, item))
		}
		return t
	}
	return lua.LNil
}
