package embedded

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	json "github.com/alicebob/miniredis/v2/gopher-json"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// engine runs scripts, one at a time. A master keeps one engine. The engine of miniredis is not used: it makes a Lua
// state for each script, and this takes longer than the script.
type engine struct {
	state   *lua.LState
	globals *lua.LTable
	onError *lua.LFunction
	args    []string // of the command under way; the next command reuses the memory

	peer  *server.Peer // the client for which miniredis runs the commands of scripts
	reply bytes.Buffer // to the command under way

	// Of the running script.
	run   *run
	wrote bool
}

func newEngine() *engine {
	l := lua.NewState(lua.Options{SkipOpenLibs: true, RegistrySize: 1024, RegistryMaxSize: 1 << 16, RegistryGrowStep: 1024})
	e := &engine{state: l, onError: l.NewFunction(locate)}
	e.peer = server.NewPeer(bufio.NewWriter(&e.reply))
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	e.globals = l.Get(lua.GlobalsIndex).(*lua.LTable)
	for _, name := range []string{"dofile", "loadfile", "module", "newproxy", "print", "require", "_printregs", "_G"} {
		e.globals.RawSetString(name, lua.LNil)
	}
	withBase := e.globals.RawGetString("tonumber").(*lua.LFunction).GFunction
	l.SetFuncs(e.globals, map[string]lua.LGFunction{"pcall": pcall, "tonumber": func(l *lua.LState) int {
		if l.GetTop() > 1 {
			return withBase(l)
		}
		l.Push(toNumber(l.CheckAny(1)))
		return 1
	}})
	redis := l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{
		"call": e.call, "pcall": e.pcall, "error_reply": errorReply, "status_reply": statusReply,
		"sha1hex":  func(l *lua.LState) int { l.Push(lua.LString(shaOf(l.CheckString(1)))); return 1 },
		"set_repl": func(*lua.LState) int { return 0 },
	})
	for i, to := range []string{"NONE", "AOF", "REPLICA", "ALL"} {
		redis.RawSetString("REPL_"+to, lua.LNumber(i))
	}
	e.globals.RawSetString("redis", redis)
	e.globals.RawSetString("cjson", l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{"decode": decode}))
	missing := l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", l.ToString(2))
		return 0
	})
	l.SetMetatable(e.globals, tableOf(l, "__index", missing))
	return e
}

// protos caches the compiled scripts of this process, by their source.
var protos sync.Map

// compile returns the script as a function.
func (e *engine) compile(source string) (*lua.LFunction, error) {
	proto, there := protos.Load(source)
	if !there {
		chunk, err := parse.Parse(strings.NewReader(source), "user_script")
		if err != nil {
			return nil, err
		}
		compiled, err := lua.Compile(chunk, "user_script")
		if err != nil {
			return nil, err
		}
		if writesGlobals(compiled) {
			return nil, errReadOnlyGlobals
		}
		proto = compiled
		protos.Store(source, proto)
	}
	return e.state.NewFunctionFromProto(proto.(*lua.FunctionProto)), nil
}

// errReadOnlyGlobals has the words of Redis. Redis returns it when a script runs, this package when a script is loaded.
//
//lint:ignore ST1005 Redis words it so
var errReadOnlyGlobals = errors.New("Attempt to modify a readonly table")

// writesGlobals reports whether a function, or a function inside of it, assigns to a global.
func writesGlobals(proto *lua.FunctionProto) bool {
	const opcodeShift = 26 // of gopher-lua's instructions
	return slices.ContainsFunc(proto.Code, func(instruction uint32) bool { return int(instruction>>opcodeShift) == lua.OP_SETGLOBAL }) ||
		slices.ContainsFunc(proto.FunctionPrototypes, writesGlobals)
}

func (r *run) eval(c *server.Peer, source string, args []string) {
	sha := shaOf(source)
	if err := r.load(sha, source); err != nil {
		c.WriteError(err.Error())
		return
	}
	r.evalsha(c, sha, args)
}

// load adds a script to this run.
func (r *run) load(sha, source string) error {
	if r.scripts[sha] == nil {
		f, err := r.server.engine.compile(source)
		if err != nil {
			return fmt.Errorf("ERR Error compiling script (new function): %w", err)
		}
		r.scripts[sha] = f
	}
	return nil
}

func (r *run) evalsha(c *server.Peer, sha string, args []string) {
	n, err := strconv.Atoi(args[0])
	switch args = args[1:]; {
	case err != nil:
		c.WriteError("ERR value is not an integer or out of range")
	case n > len(args):
		c.WriteError("ERR Number of keys can't be greater than number of args")
	case n < 0:
		c.WriteError("ERR Number of keys can't be negative")
	case r.scripts[sha] == nil:
		c.WriteError(errNoScript)
	default:
		r.server.engine.eval(r, c, sha, args[:n], args[n:])
	}
}

func (r *run) script(c *server.Peer, sub string, args []string) {
	switch {
	case sub == "LOAD" && len(args) == 1:
		sha := shaOf(args[0])
		if err := r.load(sha, args[0]); err != nil {
			c.WriteError(err.Error())
			return
		}
		c.WriteBulk(sha)
	case sub == "EXISTS" && len(args) > 0:
		c.WriteLen(len(args))
		for _, sha := range args {
			c.WriteInt(map[bool]int{true: 1}[r.scripts[strings.ToLower(sha)] != nil])
		}
	case sub == "FLUSH":
		clear(r.scripts)
		c.WriteOK()
	default:
		c.WriteError("ERR unknown subcommand '" + sub + "'. Try SCRIPT HELP.")
	}
}

// eval runs a script that this run has loaded.
func (e *engine) eval(r *run, c *server.Peer, sha string, keys, args []string) {
	l := e.state
	defer l.SetTop(0)
	e.run, e.wrote = r, false
	e.globals.RawSetString("KEYS", stringsToLua(l, keys))
	e.globals.RawSetString("ARGV", stringsToLua(l, args))
	l.Push(r.scripts[sha])
	err := l.PCall(0, 1, e.onError)
	if err == nil {
		c.Block(func(w *server.Writer) { write(w, l.Get(-1)) })
	} else if raised, _ := err.(*lua.ApiError).Object.(*lua.LTable); raised != nil {
		c.WriteError(fmt.Sprintf("%s script: %s, on @%s.", raised.RawGetString("err"), sha, raised.RawGetString("line")))
	} else {
		c.WriteError("ERR " + err.Error())
	}
}

// locate turns an error of a script into a table, and adds the line at which the script failed.
func locate(l *lua.LState) int {
	raised, is := l.Get(1).(*lua.LTable)
	if !is {
		raised = tableOf(l, "err", lua.LString("ERR "+lua.LVAsString(l.Get(1))))
	}
	where := "[G]:" // a function in Go
	for level := 1; where == "[G]:"; level++ {
		where = l.Where(level)
	}
	raised.RawSetString("line", lua.LString(strings.TrimSuffix(where, ":")))
	l.Push(raised)
	return 1
}

// call is redis.call.
func (e *engine) call(l *lua.LState) int {
	reply, failed := e.called(l)
	if failed {
		l.Error(reply, 1)
	}
	l.Push(reply)
	return 1
}

// pcall is redis.pcall.
func (e *engine) pcall(l *lua.LState) int {
	reply, _ := e.called(l)
	l.Push(reply)
	return 1
}

// called runs a command for a script.
func (e *engine) called(l *lua.LState) (reply lua.LValue, failed bool) {
	fail := func(text string) (lua.LValue, bool) { return tableOf(l, "err", lua.LString(text)), true }
	e.args = e.args[:0]
	for i := 1; i <= l.GetTop(); i++ {
		switch v := l.Get(i).(type) {
		case lua.LString:
			e.args = append(e.args, string(v))
		case lua.LNumber:
			e.args = append(e.args, floatText(float64(v)))
		default:
			return fail("ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	if len(e.args) == 0 {
		return fail("ERR Please specify at least one argument for this redis lib call")
	}
	cmd := strings.ToUpper(e.args[0])
	switch {
	case noScripts[cmd]:
		return fail("ERR This Redis command is not allowed from script")
	case grows[cmd] && !e.wrote && e.run.follows == nil && e.run.full(): // a script that has begun to write goes on
		return fail(errOutOfMemory)
	}
	e.wrote = e.wrote || writes[cmd]
	e.reply.Reset()
	e.run.do(e.peer, cmd, e.args[1:])
	e.peer.Flush()
	text := e.reply.Bytes()
	if bytes.HasPrefix(text, []byte("-ERR unknown command")) {
		return fail("ERR Unknown Redis command called from script")
	}
	reply, _ = toLua(l, text)
	return reply, text[0] == '-'
}

// toLua parses a reply, and converts it as Redis does for scripts. It also returns the text after this reply.
func toLua(l *lua.LState, text []byte) (value lua.LValue, rest []byte) {
	line, rest, _ := bytes.Cut(text, []byte("\r\n"))
	kind, head := line[0], string(line[1:])
	switch kind {
	case '+':
		return tableOf(l, "ok", lua.LString(head)), rest
	case '-':
		return tableOf(l, "err", lua.LString(head)), rest
	}
	n, _ := strconv.Atoi(head)
	switch {
	case kind == ':':
		return lua.LNumber(n), rest
	case n < 0:
		return lua.LFalse, rest
	case kind == '$':
		return lua.LString(rest[:n]), rest[n+2:]
	}
	t := l.CreateTable(n, 0)
	for range n {
		value, rest = toLua(l, rest)
		t.Append(value)
	}
	return t, rest
}

// write writes the result of a script as Redis does: numbers are truncated to integers, and an
// array ends before its first nil.
func write(w *server.Writer, value lua.LValue) {
	switch v := value.(type) {
	case lua.LNumber:
		w.WriteInt(int(v))
	case lua.LString:
		w.WriteBulk(string(v))
	case lua.LBool:
		if v {
			w.WriteInt(1)
		} else {
			w.WriteNull()
		}
	case *lua.LTable:
		if s, is := v.RawGetString("err").(lua.LString); is {
			w.WriteError(string(s))
			return
		}
		if s, is := v.RawGetString("ok").(lua.LString); is {
			w.WriteInline(string(s))
			return
		}
		n := 0
		for v.RawGetInt(n+1) != lua.LNil {
			n++
		}
		w.WriteLen(n)
		for i := range n {
			write(w, v.RawGetInt(i+1))
		}
	default:
		w.WriteNull()
	}
}

// pcall is Redis 7's pcall: for an error of redis.call it returns the text, not the table.
func pcall(l *lua.LState) int {
	l.CheckAny(1)
	if err := l.PCall(l.GetTop()-1, lua.MultRet, nil); err != nil {
		raised := err.(*lua.ApiError).Object
		if t, is := raised.(*lua.LTable); is {
			if s, is := t.RawGetString("err").(lua.LString); is {
				raised = s
			}
		}
		l.SetTop(0)
		l.Push(lua.LFalse)
		l.Push(raised)
		return 2
	}
	l.Insert(lua.LTrue, 1)
	return l.GetTop()
}

func errorReply(l *lua.LState) int {
	message := strings.TrimPrefix(l.CheckString(1), "-")
	if !strings.Contains(message, " ") {
		message = "ERR " + message
	}
	l.Push(tableOf(l, "err", lua.LString(message)))
	return 1
}

func statusReply(l *lua.LState) int {
	l.Push(tableOf(l, "ok", lua.LString(l.CheckString(1))))
	return 1
}

// decode is cjson.decode, but its errors have other texts.
func decode(l *lua.LState) int {
	value, err := json.Decode(l, []byte(l.CheckString(1)))
	if err != nil {
		l.RaiseError("%s", err.Error())
	}
	l.Push(value)
	return 1
}

func tableOf(l *lua.LState, name string, value lua.LValue) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString(name, value)
	return t
}

func stringsToLua(l *lua.LState, all []string) *lua.LTable {
	t := l.CreateTable(len(all), 0)
	for _, s := range all {
		t.Append(lua.LString(s))
	}
	return t
}

// toNumber is tonumber without a base. gopher-lua's tonumber does not parse exponents, and is slow for
// a text that is no number.
func toNumber(value lua.LValue) lua.LValue {
	s, is := value.(lua.LString)
	if !is {
		if _, is := value.(lua.LNumber); is {
			return value
		}
		return lua.LNil
	}
	text := strings.TrimSpace(string(s))
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

// floatText formats a number as C's %.17g.
func floatText(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f == math.Trunc(f) && math.Abs(f) < 1<<53 && (f != 0 || !math.Signbit(f)):
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', 17, 64)
}

func shaOf(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}
