package embedded

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// engine runs scripts, one at a time. A master has one as long as it lives, because a Lua state
// costs more than a script.
type engine struct {
	state   *lua.LState
	globals *lua.LTable
	env     *lua.LTable // the globals as they are to scripts that would write to them: they cannot
	onError *lua.LFunction
	args    []string // of the call under way; kept for the next

	// Of the script that runs.
	run   *run
	wrote bool
}

func newEngine() *engine {
	l := lua.NewState(lua.Options{SkipOpenLibs: true, RegistrySize: 1024, RegistryMaxSize: 1 << 16, RegistryGrowStep: 1024})
	e := &engine{state: l}
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	e.globals = l.Get(lua.GlobalsIndex).(*lua.LTable)
	for _, name := range []string{"dofile", "loadfile", "module", "newproxy", "print", "require", "_printregs"} {
		e.globals.RawSetString(name, lua.LNil)
	}
	e.globals.RawSetString("pcall", l.NewFunction(pcall))
	texts := e.globals.RawGetString("string").(*lua.LTable)
	anyFormat := texts.RawGetString("format").(*lua.LFunction).GFunction
	texts.RawSetString("format", l.NewFunction(func(l *lua.LState) int {
		formatted, simple := format(l)
		if !simple {
			return anyFormat(l)
		}
		l.Push(lua.LString(formatted))
		return 1
	}))
	withBase := e.globals.RawGetString("tonumber").(*lua.LFunction).GFunction
	e.globals.RawSetString("tonumber", l.NewFunction(func(l *lua.LState) int {
		if l.GetTop() > 1 {
			return withBase(l)
		}
		l.Push(toNumber(l.CheckAny(1)))
		return 1
	}))
	e.globals.RawSetString("redis", l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{
		"call": e.call, "pcall": e.pcall, "error_reply": errorReply, "status_reply": statusReply, "sha1hex": sha1hex,
		"log": func(*lua.LState) int { return 0 }, "set_repl": func(*lua.LState) int { return 0 },
	}))
	for i, to := range []string{"NONE", "AOF", "REPLICA", "ALL"} {
		e.globals.RawGetString("redis").(*lua.LTable).RawSetString("REPL_"+to, lua.LNumber(i))
	}
	for i, level := range []string{"DEBUG", "VERBOSE", "NOTICE", "WARNING"} {
		e.globals.RawGetString("redis").(*lua.LTable).RawSetString("LOG_"+level, lua.LNumber(i))
	}
	e.globals.RawSetString("cjson", l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{"decode": jsonToLua}))
	e.protect()
	e.onError = l.NewFunction(locate)
	return e
}

// protect keeps the globals from scripts.
func (e *engine) protect() {
	l := e.state
	meta := func(name string, value lua.LValue) *lua.LTable {
		t := l.NewTable()
		t.RawSetString(name, value)
		return t
	}
	e.env = l.NewTable()
	guard := meta("__index", e.globals)
	guard.RawSetString("__newindex", l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Attempt to modify a readonly table")
		return 0
	}))
	l.SetMetatable(e.env, guard)
	l.SetMetatable(e.globals, meta("__index", l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", l.ToString(2))
		return 0
	})))
	e.globals.RawSetString("_G", e.env)
}

// protos are the scripts that were compiled in this process, by source.
var protos sync.Map

// compile returns the script as a function.
func (e *engine) compile(source string) (*lua.LFunction, error) {
	proto, there := protos.Load(source)
	if !there {
		chunk, err := parse.Parse(strings.NewReader(source), "user_script")
		if err != nil {
			return nil, err
		}
		if proto, err = lua.Compile(chunk, "user_script"); err != nil {
			return nil, err
		}
		protos.Store(source, proto)
	}
	f := e.state.NewFunctionFromProto(proto.(*lua.FunctionProto))
	f.Env = e.globals
	if writesGlobals(f.Proto) {
		f.Env = e.env
	}
	return f, nil
}

// writesGlobals reports that a function, or one in it, has an assignment to a global. Only then it
// must go through env, which takes its time.
func writesGlobals(proto *lua.FunctionProto) bool {
	const opcodeShift = 26 // of gopher-lua's instructions
	return slices.ContainsFunc(proto.Code, func(instruction uint32) bool { return int(instruction>>opcodeShift) == lua.OP_SETGLOBAL }) ||
		slices.ContainsFunc(proto.FunctionPrototypes, writesGlobals)
}

// eval runs a script that this run of the master knows.
func (e *engine) eval(r *run, sha string, keys, args []string) reply {
	l := e.state
	e.run, e.wrote = r, false
	e.globals.RawSetString("KEYS", stringsToLua(l, keys))
	e.globals.RawSetString("ARGV", stringsToLua(l, args))
	l.Push(r.scripts[sha])
	err := l.PCall(0, 1, e.onError)
	defer l.SetTop(0)
	if err == nil {
		return fromLua(l.Get(-1))
	}
	raised, _ := err.(*lua.ApiError).Object.(*lua.LTable)
	if raised == nil {
		return failed("ERR " + err.Error())
	}
	return failed(fmt.Sprintf("%s script: %s, on @user_script:%s.", raised.RawGetString("err"), sha, raised.RawGetString("line")))
}

// locate makes a table of what a script raised, and adds the line.
func locate(l *lua.LState) int {
	raised, is := l.Get(1).(*lua.LTable)
	if !is {
		raised = tableOf(l, "err", "ERR "+lua.LVAsString(l.Get(1)))
	}
	for level := 1; level <= 3; level++ {
		caller, there := l.GetStack(level)
		if !there {
			break
		}
		if _, err := l.GetInfo("Sl", caller, lua.LNil); err == nil && caller.CurrentLine > 0 {
			raised.RawSetString("line", lua.LNumber(caller.CurrentLine))
			break
		}
	}
	l.Push(raised)
	return 1
}

// call is redis.call.
func (e *engine) call(l *lua.LState) int {
	r := e.called(l)
	if r.kind == failure {
		l.Error(tableOf(l, "err", r.text), 1)
	}
	l.Push(toLua(l, r))
	return 1
}

// pcall is redis.pcall.
func (e *engine) pcall(l *lua.LState) int {
	l.Push(toLua(l, e.called(l)))
	return 1
}

// called runs the command that a script calls.
func (e *engine) called(l *lua.LState) reply {
	n := l.GetTop()
	if n == 0 {
		return failed("ERR Please specify at least one argument for this redis lib call")
	}
	e.args = e.args[:0]
	for i := 1; i <= n; i++ {
		switch v := l.Get(i).(type) {
		case lua.LString:
			e.args = append(e.args, string(v))
		case lua.LNumber:
			e.args = append(e.args, floatText(float64(v)))
		default:
			return failed("ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	cmd, args := commandOf(e.args[0]), e.args[1:]
	switch {
	case cmd == nil:
		return failed("ERR Unknown Redis command called from script")
	case !cmd.takes(len(args)):
		return failed("ERR Wrong number of args calling Redis command from script")
	case cmd.conn != nil:
		return failed("ERR This Redis command is not allowed from script")
	case cmd.writes && e.run.follows != nil:
		return errReadOnly
	case cmd.grows && !e.wrote && e.run.full(): // what has begun to write goes on
		return errOutOfMemory
	}
	e.wrote = e.wrote || cmd.writes
	return e.run.do(cmd, args)
}

// pcall is that of Redis 7: of an error of redis.call it returns the text.
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

// errorReply is redis.error_reply.
func errorReply(l *lua.LState) int {
	s, is := l.Get(1).(lua.LString)
	if !is || l.GetTop() != 1 {
		l.Push(tableOf(l, "err", "ERR wrong number or type of arguments"))
		return 1
	}
	said := strings.TrimPrefix(string(s), "-")
	if !strings.Contains(said, " ") {
		said = "ERR " + said
	}
	l.Push(tableOf(l, "err", said))
	return 1
}

// statusReply is redis.status_reply.
func statusReply(l *lua.LState) int {
	s, is := l.Get(1).(lua.LString)
	if !is || l.GetTop() != 1 {
		l.Push(tableOf(l, "err", "ERR wrong number or type of arguments"))
		return 1
	}
	l.Push(tableOf(l, "ok", string(s)))
	return 1
}

func sha1hex(l *lua.LState) int {
	l.Push(lua.LString(shaOf(l.CheckString(1))))
	return 1
}

func shaOf(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}
