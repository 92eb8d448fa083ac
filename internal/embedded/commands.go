package embedded

import (
	"maps"
	"strings"
)

// command is one that a master knows. It has one of three functions, by what it needs.
type command struct {
	name        string
	least, most int // arguments; most is -1 for no limit
	data        func(s *store, args []string) reply
	life        func(r *run, args []string) reply
	conn        func(c *conn, args []string) reply // not for scripts

	writes  bool
	grows   bool // needs memory, and fails without
	anyTime bool // also while the master is busy with a script
}

const noLimit = -1

// commands is all there is, by name in upper and in lower case.
var commands map[string]*command

func init() { // it refers to itself, by EVAL
	reads := func(least, most int, run func(*store, []string) reply) *command {
		return &command{least: least, most: most, data: run}
	}
	writes := func(least, most int, run func(*store, []string) reply) *command {
		return &command{least: least, most: most, data: run, writes: true}
	}
	grows := func(least, most int, run func(*store, []string) reply) *command {
		return &command{least: least, most: most, data: run, writes: true, grows: true}
	}
	commands = map[string]*command{
		"DBSIZE":    reads(0, 0, dbsize),
		"DEL":       writes(1, noLimit, del),
		"EXISTS":    reads(1, noLimit, exists),
		"EXPIRE":    writes(2, 2, expire("expire", 1000)),
		"FLUSHALL":  writes(0, 1, flushAll),
		"KEYS":      reads(1, 1, keysLike),
		"PERSIST":   writes(1, 1, persist),
		"PEXPIRE":   writes(2, 2, expire("pexpire", 1)),
		"PEXPIREAT": writes(2, 2, pexpireat),
		"PTTL":      reads(1, 1, ttl(1)),
		"SCAN":      reads(1, noLimit, scan),
		"TIME":      reads(0, 0, timeNow),
		"TTL":       reads(1, 1, ttl(1000)),
		"TYPE":      reads(1, 1, typeOf),

		"APPEND": grows(2, 2, appendText),
		"DECR":   grows(1, 1, decr),
		"DECRBY": grows(2, 2, decrby),
		"GET":    reads(1, 1, get),
		"INCR":   grows(1, 1, incr),
		"INCRBY": grows(2, 2, incrby),
		"MGET":   reads(1, noLimit, mget),
		"MSET":   grows(2, noLimit, mset),
		"SET":    grows(2, noLimit, set),
		"STRLEN": reads(1, 1, strlen),

		"HDEL":    writes(2, noLimit, takeOut[*hash]),
		"HEXISTS": reads(2, 2, lookInto(hexists)),
		"HGET":    reads(2, 2, lookInto(hget)),
		"HGETALL": reads(1, 1, lookInto(hgetall)),
		"HINCRBY": grows(3, 3, hincrby),
		"HLEN":    reads(1, 1, lookInto(hlen)),
		"HMGET":   reads(2, noLimit, lookInto(hmget)),
		"HSET":    grows(3, noLimit, hset),

		"ZADD":             grows(3, noLimit, zadd),
		"ZCARD":            reads(1, 1, lookInto(zcard)),
		"ZRANGE":           reads(3, noLimit, zrange),
		"ZREM":             writes(2, noLimit, takeOut[*zset]),
		"ZREMRANGEBYSCORE": writes(3, 3, zremrangebyscore),
		"ZSCORE":           reads(2, 2, lookInto(zscore)),

		"LRANGE": reads(3, 3, lrange),
		"RPUSH":  grows(2, noLimit, rpush),

		"ECHO":    {least: 1, most: 1, life: func(_ *run, args []string) reply { return text(args[0]) }},
		"INFO":    {most: noLimit, life: infoCommand},
		"PING":    {most: 1, life: ping},
		"PUBLISH": {least: 2, most: 2, life: publish},
		"PUBSUB":  {least: 1, most: noLimit, life: pubsub},
		"SELECT":  {least: 1, most: 1, life: selectDB},

		"AUTH":        {least: 1, most: 2, conn: auth, anyTime: true},
		"CLIENT":      {least: 1, most: noLimit, conn: clientCommand},
		"CONFIG":      {least: 1, most: noLimit, conn: config},
		"EVAL":        {least: 2, most: noLimit, conn: eval},
		"EVALSHA":     {least: 2, most: noLimit, conn: evalsha},
		"HELLO":       {most: noLimit, conn: hello, anyTime: true},
		"QUIT":        {most: noLimit, conn: quit, anyTime: true},
		"SCRIPT":      {least: 1, most: noLimit, conn: script},
		"SUBSCRIBE":   {least: 1, most: noLimit, conn: subscribe},
		"UNSUBSCRIBE": {most: noLimit, conn: unsubscribe},
	}
	for name, cmd := range maps.Clone(commands) {
		cmd.name = name
		commands[strings.ToLower(name)] = cmd // as clients write it
	}
}

// commandOf returns the command of this name, or nil.
func commandOf(name string) *command {
	if cmd := commands[name]; cmd != nil {
		return cmd
	}
	return commands[strings.ToUpper(name)]
}

// takes reports that the command can have so many arguments.
func (cmd *command) takes(n int) bool {
	return n >= cmd.least && (cmd.most == noLimit || n <= cmd.most)
}

// unknownCommand is what Redis says to a command that it does not know.
func unknownCommand(name string, args []string) reply {
	const most = 128
	shown := ""
	for _, arg := range args {
		if len(shown) >= most {
			break
		}
		shown += "'" + arg[:min(len(arg), most-len(shown))] + "' "
	}
	return failed("ERR unknown command '" + name[:min(len(name), most)] + "', with args beginning with: " + shown)
}
