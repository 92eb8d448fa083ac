package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// loads is how much of its append-only file a server loads when it starts. The server loads the file with the
// rights of the default user, and drops each transaction that this user may not run. The writes of a script
// are stored as a transaction (https://github.com/redis/redis/issues/14541).
type loads int

const (
	loadsUnknown loads = iota
	loadsAll
	loadsSome
)

// mayAsk is a script that returns 1 if its user may run ACL GETUSER. It returns 0 if the user may not, or if the server
// cannot check this. Without the script, a denied ACL GETUSER would leave an entry in ACL LOG, which operators watch.
const mayAsk = "return redis.acl_check_cmd and redis.acl_check_cmd('ACL', 'GETUSER', 'default') and 1 or 0"

func readLoads(ctx context.Context, c *redis.Client) loads {
	if may, _ := c.Eval(ctx, mayAsk, nil).Bool(); !may && userOf(c.Options()) != "default" {
		return loadsUnknown
	}
	reply, err := c.Do(ctx, "ACL", "GETUSER", "default").Result()
	if err != nil {
		return loadsUnknown
	}
	return loadsOf(reply)
}

// loadsOf parses the reply to ACL GETUSER default, which is a list of fields and values.
func loadsOf(reply any) loads {
	user := map[string]string{}
	fields, _ := reply.([]any)
	for i := 0; i+1 < len(fields); i += 2 {
		user[fmt.Sprint(fields[i])] = fmt.Sprint(fields[i+1])
	}
	commands, keys := strings.Fields(user["commands"]), user["keys"]
	switch {
	case len(commands) == 0:
		return loadsUnknown
	case len(commands) == 1 && commands[0] == "+@all" && (strings.Contains(keys, "~*") || keys == "[*]"): // [*] is the form of Redis 6
		return loadsAll
	}
	return loadsSome
}
