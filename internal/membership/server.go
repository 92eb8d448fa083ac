package membership

import (
	"cmp"
	"fmt"
	"strings"
)

// ServerInfo has the fields of a server's INFO.
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

// unfit returns why a server of this kind cannot be a master, or "". scripts/fit.lua checks the
// conditions that can change while a server runs.
func (s ServerInfo) unfit() string {
	var major int
	_, _ = fmt.Sscanf(s["redis_version"], "%d", &major)
	mode := cmp.Or(s["redis_mode"], s["server_mode"]) // server_mode is Valkey's name
	switch {
	case major < 6:
		return fmt.Sprintf("its version is %q: version 6 or newer is needed", s["redis_version"])
	case s["cluster_enabled"] == "1" || mode == "cluster":
		return "it is a node of a Redis Cluster: give independent servers"
	case mode == "sentinel":
		return "it is a Sentinel: give a client made by redis.NewFailoverClient"
	}
	return ""
}

// durability is "yes" if every write to a server is on disk before the server answers.
type durability string

const (
	durable    durability = "yes"
	NotDurable durability = "no"
	unknown    durability = "unknown" // the user may not read the configuration
)

// DurabilitySettings are the settings that decide durability, with the values of a durable server.
var DurabilitySettings = map[string]string{"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no"}

// durabilityOf returns a server's durability, from the settings in its replies to CONFIG GET.
func durabilityOf(config map[string]string) durability {
	all := durable
	for name, need := range DurabilitySettings {
		if value, known := config[name]; !known && all == durable {
			all = unknown
		} else if known && value != need {
			all = NotDurable
		}
	}
	return all
}

// Judgement is what clients conclude about a server. Commands show it to operators.
type Judgement struct {
	Unfit      string // why the server may not vote, and what to do; "" if it may vote
	Durable    bool   // the server keeps its place over a restart
	WasReplica bool   // the server has been a replica since it started, and therefore is not durable
}

// Judge judges a server by its INFO, its settings and its reply to script.ReportSource.
func Judge(info ServerInfo, config, report map[string]string) Judgement {
	replica := report[".replica"] != ""
	return Judgement{
		cmp.Or(info.unfit(), report[".unfit"], report[".forgot"], report[".weak"]),
		durabilityOf(config) == durable && !replica, replica,
	}
}
