package embedded

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

const (
	errReadOnly    = "READONLY You can't write against a read only replica."
	errOutOfMemory = "OOM command not allowed when used memory > 'maxmemory'."
	errBusy        = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
	errNoScript    = "NOSCRIPT No matching script. Please use EVAL."
)

// The kinds of commands, except for commands that only read data.
var (
	anyTime   = setOf("AUTH HELLO QUIT") // run even while the master is busy with a script
	noScripts = setOf("AUTH CLIENT CONFIG DISCARD EVAL EVALSHA EXEC HELLO MULTI PSUBSCRIBE PUNSUBSCRIBE QUIT SCRIPT SUBSCRIBE UNSUBSCRIBE WATCH")
	grows     = setOf("APPEND DECR DECRBY HINCRBY HSET INCR INCRBY MSET RPUSH SET ZADD") // fail if the memory is full
	writes    = setOf("DEL EXPIRE FLUSHALL HDEL PERSIST PEXPIRE PEXPIREAT ZREM ZREMRANGEBYSCORE", grows)
)

// setOf returns the set of the words and of the other sets.
func setOf(words string, others ...map[string]bool) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(words) {
		all[word] = true
	}
	for _, other := range others {
		for word := range other {
			all[word] = true
		}
	}
	return all
}

// handle waits at the gate, and then runs a client's command. While it runs, no other command does. If the
// master is dead, handle returns false, and sends no reply.
func (r *run) handle(c *server.Peer, cmd string, args []string) bool {
	kill := cmd == "SCRIPT" && len(args) == 1 && strings.EqualFold(args[0], "KILL")
	busy, alive := r.gate.pass(!anyTime[cmd] && !kill)
	r.server.state.Lock()
	defer r.server.state.Unlock()
	switch {
	case !alive || r.gate.isShut():
		return false
	case busy:
		c.WriteError(errBusy)
	case kill && r.gate.setBusy(false):
		c.WriteOK()
	case kill:
		c.WriteError("NOTBUSY No scripts in execution right now.")
	case grows[cmd] && r.full() && r.follows == nil:
		c.WriteError(errOutOfMemory)
	default:
		r.server.tick()
		r.do(c, cmd, args)
	}
	return !r.gate.isShut()
}

// do runs a command of a client or script. miniredis runs all commands except EVAL, EVALSHA, SCRIPT, CONFIG, INFO, PTTL
// and TTL.
func (r *run) do(c *server.Peer, cmd string, args []string) {
	switch {
	case writes[cmd] && r.follows != nil:
		c.WriteError(errReadOnly)
	case cmd == "EVAL" && len(args) > 1:
		r.eval(c, args[0], args[1:])
	case cmd == "EVALSHA" && len(args) > 1:
		r.evalsha(c, strings.ToLower(args[0]), args[1:])
	case cmd == "SCRIPT" && len(args) > 0:
		r.script(c, strings.ToUpper(args[0]), args[1:])
	case cmd == "CONFIG" && len(args) > 1:
		r.config(c, strings.ToUpper(args[0]), args[1:])
	case cmd == "INFO" && len(args) > 1: // as in Redis 6: the library must not ask for several sections
		c.WriteError("ERR syntax error")
	case cmd == "INFO":
		c.WriteBulk(r.info(strings.ToLower(strings.Join(args, ""))))
	case cmd == "PTTL" && len(args) == 1:
		r.server.ttl(c, args[0], 1)
	case cmd == "TTL" && len(args) == 1:
		r.server.ttl(c, args[0], 1000)
	default:
		if cmd == "PUBLISH" && len(args) == 2 {
			r.relay(args[0], args[1])
		}
		r.server.redis.Dispatch(c, append([]string{cmd}, args...))
		if setsTTL[cmd] && len(args) > 0 {
			r.server.noteTTL(args[0])
		}
	}
}

// usedMemory is the memory in bytes that the master reports, about as much as an empty Redis uses.
const usedMemory = 1 << 20

// full reports whether commands that need memory fail.
func (r *run) full() bool {
	n, _ := strconv.Atoi(r.settings["maxmemory"]) // config accepts only numbers
	return n != 0 && n < usedMemory
}

// evicts reports whether the policy evicts keys with an expiry.
func (r *run) evicts() bool { return r.settings["maxmemory-policy"] != "noeviction" }

// settings returns the settings with which a master starts: every write is on disk before it is answered, and no key is
// evicted.
func settings() map[string]string {
	return map[string]string{"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no",
		"maxmemory": "0", "maxmemory-policy": "noeviction"}
}

func (r *run) config(c *server.Peer, sub string, args []string) {
	name := strings.ToLower(args[0])
	was, is := r.settings[name]
	switch {
	case sub == "GET":
		names := slices.DeleteFunc(slices.Clone(args), func(name string) bool { return r.settings[strings.ToLower(name)] == "" })
		c.WriteMapLen(len(names))
		for _, name := range names {
			c.WriteBulk(strings.ToLower(name))
			c.WriteBulk(r.settings[strings.ToLower(name)])
		}
		return
	case sub != "SET" || len(args) != 2:
		c.WriteError("ERR unknown subcommand '" + sub + "'. Try CONFIG HELP.")
		return
	case !is:
		c.WriteError("ERR Unknown option or number of arguments for CONFIG SET - '" + args[0] + "'")
		return
	case name == "maxmemory":
		if n, err := strconv.Atoi(args[1]); err != nil || n < 0 {
			c.WriteError("ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value")
			return
		}
	}
	r.settings[name] = strings.ToLower(args[1])
	if name == "appendonly" && r.settings[name] != was { // with "no" the file keeps the present data
		r.server.file = nil
		if r.settings[name] == "no" {
			r.server.file = r.server.copied()
		}
	}
	c.WriteOK()
}

// info returns a section of INFO, or all sections if the name is empty.
func (r *run) info(name string) string {
	var b strings.Builder
	section := func(title string, lines func() string) {
		if name == "" || name == strings.ToLower(title) {
			b.WriteString("# " + title + "\r\n" + strings.ReplaceAll(lines(), " ", "\r\n") + "\r\n\r\n")
		}
	}
	section("Server", func() string {
		now := r.server.time
		uptime := int(now.Sub(r.started).Seconds())
		return fmt.Sprintf("redis_version:7.0.15 redis_mode:standalone run_id:%s server_time_usec:%d uptime_in_seconds:%d uptime_in_days:%d",
			r.id, now.UnixMicro(), uptime, uptime/(24*60*60))
	})
	section("Memory", func() string {
		return fmt.Sprintf("used_memory:%d maxmemory:%s maxmemory_policy:%s", usedMemory, r.settings["maxmemory"], r.settings["maxmemory-policy"])
	})
	section("Persistence", func() string {
		aof := strings.NewReplacer("yes", "1", "no", "0").Replace(r.settings["appendonly"])
		return "loading:0 aof_enabled:" + aof + " aof_rewrite_in_progress:0 aof_rewrite_scheduled:0 aof_last_rewrite_time_sec:-1"
	})
	section("Stats", func() string { return fmt.Sprintf("evicted_keys:%d", r.evicted) })
	section("Replication", func() string {
		role := "master"
		if r.follows != nil {
			role = "slave"
		}
		return fmt.Sprintf("role:%s connected_slaves:%d master_replid2:%s", role, len(r.replicas), r.master)
	})
	return b.String()
}

// relay publishes a message of this master on its replicas, a moment later.
func (r *run) relay(channel, message string) {
	if r.follows != nil {
		return
	}
	for replica := range r.replicas {
		replica.begin(io.NopCloser(nil), func() {
			if _, alive := replica.gate.pass(false); alive {
				replica.server.data.Publish(channel, message)
			}
		})
	}
}
