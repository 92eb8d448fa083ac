package embedded

import (
	"crypto/sha1"
	"strings"
)

func eval(c *conn, args []string) reply {
	keys, rest, wrong := keysAndRest(args[1:])
	if wrong.kind == failure {
		return wrong
	}
	sha := shaOf(args[0])
	if said := c.run.load(sha, args[0]); said.kind == failure {
		return said
	}
	return c.run.engine.eval(c.run, sha, keys, rest)
}

func evalsha(c *conn, args []string) reply {
	if len(args[0]) != 2*sha1.Size {
		return errNoScript
	}
	keys, rest, wrong := keysAndRest(args[1:])
	if wrong.kind == failure {
		return wrong
	}
	sha := strings.ToLower(args[0])
	if c.run.scripts[sha] == nil {
		return errNoScript
	}
	return c.run.engine.eval(c.run, sha, keys, rest)
}

// keysAndRest splits what stands behind a script. The last result is an error or nothing.
func keysAndRest(words []string) (keys, rest []string, wrong reply) {
	n, is := integerOf(words[0])
	words = words[1:]
	switch {
	case !is:
		return nil, nil, errNoInteger
	case n > int64(len(words)):
		return nil, nil, failed("ERR Number of keys can't be greater than number of args")
	case n < 0:
		return nil, nil, failed("ERR Number of keys can't be negative")
	}
	return words[:n], words[n:], reply{}
}

// load adds a script to those that this run knows.
func (r *run) load(sha, source string) reply {
	if r.scripts[sha] == nil {
		f, err := r.engine.compile(source)
		if err != nil {
			return failed("ERR Error compiling script (new function): " + err.Error())
		}
		r.scripts[sha] = f
	}
	return text(sha)
}

func script(c *conn, args []string) reply {
	switch sub, args := strings.ToUpper(args[0]), args[1:]; {
	case sub == "LOAD" && len(args) == 1:
		return c.run.load(shaOf(args[0]), args[0])
	case sub == "EXISTS" && len(args) > 0:
		all := make([]reply, len(args))
		for i, sha := range args {
			all[i] = yes(c.run.scripts[strings.ToLower(sha)] != nil)
		}
		return arrayOf(all...)
	case sub == "FLUSH" && len(args) <= 1:
		clear(c.run.scripts)
		return ok
	case sub == "KILL" && len(args) == 0:
		return failed("NOTBUSY No scripts in execution right now.")
	case sub == "LOAD" || sub == "EXISTS" || sub == "FLUSH" || sub == "KILL":
		return wrongNumber("script|" + sub)
	}
	return unknownSubcommand("SCRIPT", args[0])
}

func unknownSubcommand(command, sub string) reply {
	return failed("ERR unknown subcommand '" + sub + "'. Try " + command + " HELP.")
}
