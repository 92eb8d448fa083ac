package embedded

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const version = "7.0.15"

// infoCommand takes one section at most, as Redis 6 does: the library must do with that.
func infoCommand(r *run, args []string) reply {
	if len(args) > 1 {
		return errSyntax
	}
	var b strings.Builder
	for _, section := range r.info() {
		name, _, _ := strings.Cut(section, "\r\n")
		if len(args) == 0 || strings.EqualFold(args[0], strings.TrimPrefix(name, "# ")) {
			b.WriteString(section + "\r\n")
		}
	}
	return text(b.String())
}

func (r *run) info() (sections []string) {
	section := func(lines ...string) { sections = append(sections, strings.Join(lines, "\r\n")+"\r\n") }
	uptime := (r.data.now - r.started) / 1e6
	section("# Server",
		"redis_version:"+version,
		"redis_mode:standalone",
		"run_id:"+r.id,
		fmt.Sprintf("server_time_usec:%d", r.data.now),
		fmt.Sprintf("uptime_in_seconds:%d", uptime),
		fmt.Sprintf("uptime_in_days:%d", uptime/(24*60*60)))
	section("# Memory",
		fmt.Sprintf("used_memory:%d", usedMemory),
		fmt.Sprintf("maxmemory:%d", r.maxMemory),
		"maxmemory_policy:"+r.settings["maxmemory-policy"])
	aof := 0
	if r.settings["appendonly"] == "yes" {
		aof = 1
	}
	section("# Persistence", "loading:0", fmt.Sprintf("aof_enabled:%d", aof),
		"aof_rewrite_in_progress:0", "aof_rewrite_scheduled:0", "aof_last_rewrite_time_sec:-1")
	section("# Stats", fmt.Sprintf("evicted_keys:%d", r.evicted))
	role := "master"
	if r.follows != nil {
		role = "slave"
	}
	section("# Replication", "role:"+role, "connected_slaves:"+strconv.Itoa(len(r.replicas)), "master_replid2:"+r.master)
	return sections
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
			name = strings.ToLower(name)
			if name == "maxmemory" {
				said.items = append(said.items, text(name), text(strconv.FormatInt(r.maxMemory, 10)))
			} else if value, is := r.settings[name]; is {
				said.items = append(said.items, text(name), text(value))
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
	case sub == "SET" && len(args) == 2 && choices[strings.ToLower(args[0])] != nil:
		return r.set(strings.ToLower(args[0]), strings.ToLower(args[1]))
	case sub == "SET" && len(args) >= 2:
		return failed("ERR Unknown option or number of arguments for CONFIG SET - '" + args[0] + "'")
	case sub == "GET" || sub == "SET":
		return wrongNumber("config|" + sub)
	}
	return unknownSubcommand("CONFIG", args[0])
}

// choices are what settings can be.
var choices = map[string][]string{
	"appendonly":                {"yes", "no"},
	"appendfsync":               {"everysec", "always", "no"},
	"no-appendfsync-on-rewrite": {"yes", "no"},
	"maxmemory-policy": {
		"volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "allkeys-lru", "allkeys-lfu", "allkeys-random", noEviction,
	},
}

const noEviction = "noeviction"

// settings returns those with which a master starts: every write is on disk before it is answered,
// and no key is evicted.
func settings() map[string]string {
	return map[string]string{"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no", "maxmemory-policy": noEviction}
}

// set changes a setting. While appendonly is no, the file stays as it was.
func (r *run) set(name, value string) reply {
	if !slices.Contains(choices[name], value) {
		must := "argument(s) must be one of the following: " + strings.Join(choices[name], ", ")
		if len(choices[name]) == 2 {
			must = "argument must be 'yes' or 'no'"
		}
		return failed("ERR CONFIG SET failed (possibly related to argument '" + name + "') - " + must)
	}
	if name == "appendonly" && value != r.settings[name] {
		r.data.file = nil
		if value == "no" {
			r.data.file = cloned(r.data.entries)
		}
	}
	r.settings[name] = value
	return ok
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
