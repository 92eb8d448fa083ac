package membership

import (
	"cmp"
	"fmt"
	"strings"
)

// ServerInfo is what INFO tells of a server.
type ServerInfo map[string]string

// ParseInfo reads the reply to INFO.
func ParseInfo(text string) ServerInfo {
	info := ServerInfo{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			info[key] = value
		}
	}
	return info
}

// unfit tells why a server can be no master, or returns "".
func (s ServerInfo) unfit() string {
	var major int
	_, _ = fmt.Sscanf(s["redis_version"], "%d", &major)
	mode := cmp.Or(s["redis_mode"], s["server_mode"]) // the second is Valkey's
	policy := s["maxmemory_policy"]
	switch {
	case major < 6:
		return fmt.Sprintf("its version is %q: version 6 or newer is needed", s["redis_version"])
	case s["cluster_enabled"] == "1" || mode == "cluster":
		return "it is a node of a Redis Cluster: give independent servers"
	case mode == "sentinel":
		return "it is a Sentinel: give a client made by redis.NewFailoverClient"
	case s["role"] != "master":
		return fmt.Sprintf("its role is %q: give the primary's address", s["role"])
	case policy != "" && policy != "noeviction" && s["maxmemory"] != "" && s["maxmemory"] != "0":
		return "it may evict keys (maxmemory-policy " + policy + "): set maxmemory-policy noeviction"
	}
	return ""
}

// durability is whether every write of a server is on disk before it is answered.
type durability string

const (
	durable    durability = "yes"
	NotDurable durability = "no"
	unknown    durability = "unknown" // who may not read the configuration cannot tell
)

// DurabilitySettings are the settings that decide it, with what makes a server durable.
var DurabilitySettings = map[string]string{"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no"}

// durabilityOf reads what CONFIG GET replied of what decides it.
func durabilityOf(config map[string]string) durability {
	all := durable
	for name, need := range DurabilitySettings {
		if value, told := config[name]; !told && all == durable {
			all = unknown
		} else if told && value != need {
			all = NotDurable
		}
	}
	return all
}

// replicaID is the replication id that the server had as a replica, or "": one that was a replica
// may lack what its master wrote last, however durable both are. Redis forgets it when the process
// ends.
func (s ServerInfo) replicaID() string {
	if id := s["master_replid2"]; strings.Trim(id, "0") != "" {
		return id
	}
	return ""
}

// Judgement is how clients judge a server, for code that has to explain it.
type Judgement struct {
	Unfit      string // why it can be no master, and what to do; "" if it can
	Durable    bool   // it keeps its place over a restart
	WasReplica bool   // it was a replica once, and is not durable for that
}

// Judge judges a server by its INFO and its settings.
func Judge(info ServerInfo, config map[string]string) Judgement {
	return Judgement{info.unfit(), durabilityOf(config) == durable && info.replicaID() == "", info.replicaID() != ""}
}
