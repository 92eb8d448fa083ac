package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/master"
)

// tryWrite writes a key that lives for a second at most, and returns the error. A server may answer all reads
// and still refuse all writes.
func tryWrite(ctx context.Context, c *redis.Client, prefix string) error {
	key := prefix + ":doctor:" + rand.Text()
	err := c.Set(ctx, key, "1", time.Second).Err()
	if err == nil {
		_ = c.Del(ctx, key).Err() // if this fails, the key expires
	}
	return err
}

// answers reports whether the server has answered PING. An error counts as an answer, because a server that cannot
// save refuses PING as well.
func answers(err error) bool {
	return err == nil || master.Denied(err) || redis.HasErrorPrefix(err, "MISCONF")
}

// writesFinding reports whether the server accepts writes. A replica and a missing right have findings
// of their own.
func writesFinding(m *masterReading) finding {
	const check = "writes"
	switch {
	case m.writes == nil:
		return fine(check, "it takes them")
	case master.Denied(m.writes), m.info["role"] == "slave":
		return finding{}
	}
	f := finding{Check: check, Level: levelWarning, noVote: true, What: "it refuses them: " + oneLine(m.writes), Why: "nothing can be locked or unlocked there: its vote is missing",
		Do: cmp.Or(remedy(m.writes.Error()), "see its log")}
	if !master.IsReply(m.writes) {
		f.What = "one failed: " + oneLine(m.writes)
	}
	return f
}

// remedies has the remedies for errors of servers. An error is recognised by a part of its text.
var remedies = []struct{ part, do string }{
	{"LOADING", "wait: the server reads its data"},
	{"BUSY", "a script runs there for too long: wait, or end it with SCRIPT KILL; keep other people's scripts off this server"},
	{"MISCONF", "it cannot save to its disk: make room there, and look into its log; it takes writes again when a save has succeeded (BGSAVE)"},
	{"NOREPLICAS", "it wants replicas that it does not have: CONFIG SET min-replicas-to-write 0, and in redis.conf. A master needs no replicas"},
	{"OOM", "raise maxmemory, or take other data off this server"},
	{"READONLY", "give the primary's address"},
	{"max number of clients", "raise maxclients, or find the client with so many connections: CLIENT LIST"},
	{"protected mode", "give the server a user with a password, and its clients that password; or say bind and protected-mode no in its configuration"},
	{"DB index is out of range", "give a database that the server has, or raise its setting databases"},
}

// remedy returns the remedy for an error, or "" if none is known.
func remedy(text string) string {
	for _, r := range remedies {
		if strings.Contains(text, r.part) {
			return r.do
		}
	}
	return ""
}
