package embedded

import (
	"fmt"
	"strconv"
	"strings"
)

const version = "7.0.15"

// infoCommand returns the same reply whatever sections are asked for.
func infoCommand(r *run, _ []string) reply {
	uptime := (r.data.now - r.started) / 1e6
	return text(strings.Join([]string{
		"# Server",
		"redis_version:" + version,
		"redis_mode:standalone",
		"run_id:" + r.id,
		fmt.Sprintf("server_time_usec:%d", r.data.now),
		fmt.Sprintf("uptime_in_seconds:%d", uptime),
		fmt.Sprintf("uptime_in_days:%d", uptime/(24*60*60)),
		"",
		"# Memory",
		fmt.Sprintf("used_memory:%d", usedMemory),
		fmt.Sprintf("maxmemory:%d", r.maxMemory),
		"maxmemory_policy:noeviction",
		"",
		"# Persistence",
		"loading:0",
		"",
		"# Replication",
		"role:master",
		"connected_slaves:0",
		"master_replid2:" + r.master,
		"",
	}, "\r\n"))
}

func ping(_ *run, args []string) reply {
	if len(args) == 1 {
		return text(args[0])
	}
	return simple("PONG")
}

func config(c *conn, args []string) reply {
	r := c.run
	switch sub, args := strings.ToUpper(args[0]), args[1:]; {
	case sub == "GET" && len(args) > 0:
		said := arrayOf()
		for _, name := range args {
			if value := r.setting(strings.ToLower(name)); value != "" {
				said.items = append(said.items, text(strings.ToLower(name)), text(value))
			}
		}
		return said
	case sub == "SET" && len(args) == 2 && strings.EqualFold(args[0], "maxmemory"):
		n, is := integerOf(args[1])
		if !is || n < 0 {
			return failed("ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value")
		}
		r.maxMemory = n
		return ok
	case sub == "SET" && len(args) >= 2:
		return failed("ERR Unknown option or number of arguments for CONFIG SET - '" + args[0] + "'")
	case sub == "GET" || sub == "SET":
		return wrongNumber("config|" + sub)
	}
	return unknownSubcommand("CONFIG", args[0])
}

// setting returns a setting, or "". They make the master look as durable as it is.
func (r *run) setting(name string) string {
	switch {
	case name == "maxmemory":
		return strconv.FormatInt(r.maxMemory, 10)
	case name == "appendfsync" && r.forgetful.Load():
		return "everysec"
	}
	return map[string]string{
		"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no", "maxmemory-policy": "noeviction",
	}[name]
}

// hello knows RESP2 only.
func hello(c *conn, args []string) reply {
	if len(args) > 0 {
		protocol, is := integerOf(args[0])
		switch {
		case !is:
			return failed("ERR Protocol version is not an integer or out of range")
		case protocol != 2:
			return failed("NOPROTO unsupported protocol version")
		}
	}
	return arrayOf(text("server"), text("redis"), text("version"), text(version), text("proto"), number(2), text("id"), number(c.id),
		text("mode"), text("standalone"), text("role"), text("master"), text("modules"), arrayOf())
}

// auth knows no password.
func auth(_ *conn, args []string) reply {
	if len(args) == 2 {
		return failed("WRONGPASS invalid username-password pair or user is disabled.")
	}
	return failed("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
}

func selectDB(_ *run, args []string) reply {
	n, is := integerOf(args[0])
	switch {
	case !is:
		return errNoInteger
	case n != 0:
		return failed("ERR DB index is out of range")
	}
	return ok
}

func clientCommand(c *conn, args []string) reply {
	switch sub := strings.ToUpper(args[0]); {
	case sub == "ID" && len(args) == 1:
		return number(c.id)
	case sub == "SETNAME" && len(args) == 2, sub == "SETINFO" && len(args) == 3:
		return ok
	case sub == "ID" || sub == "SETNAME" || sub == "SETINFO":
		return wrongNumber("client|" + sub)
	}
	return unknownSubcommand("CLIENT", args[0])
}

func quit(c *conn, _ []string) reply {
	c.leaving = true
	return ok
}
