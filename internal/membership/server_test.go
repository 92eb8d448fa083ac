package membership

import (
	"slices"
	"strings"
	"testing"
)

func TestUnfitServers(t *testing.T) {
	fit := "redis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
	valkey := strings.ReplaceAll(fit, "redis_mode", "server_mode")
	if why := ParseInfo(valkey).unfit(); why != "" {
		t.Errorf("a plain Valkey server is refused: %s", why)
	}
	for _, mode := range []string{"sentinel", "cluster"} {
		says := map[string]string{"sentinel": "NewFailoverClient", "cluster": "Cluster"}[mode]
		if why := ParseInfo(valkey + "server_mode:" + mode + "\r\n").unfit(); !strings.Contains(why, says) {
			t.Errorf("Valkey in the mode %s: %q does not say %q", mode, why, says)
		}
	}
	if why := ParseInfo(fit).unfit(); why != "" {
		t.Errorf("a plain server is refused: %s", why)
	}
	for change, word := range map[string]string{
		"redis_version:5.0.14":                           "version",
		"redis_mode:cluster":                             "Cluster",
		"cluster_enabled:1":                              "Cluster",
		"redis_mode:sentinel":                            "NewFailoverClient",
		"role:slave":                                     "primary",
		"maxmemory:1\r\nmaxmemory_policy:allkeys-lru":    "noeviction",
		"maxmemory:100\r\nmaxmemory_policy:volatile-ttl": "noeviction",
	} {
		if why := ParseInfo(fit + change + "\r\n").unfit(); !strings.Contains(why, word) {
			t.Errorf("%q: %q does not say %q", change, why, word)
		}
	}
	for _, change := range []string{
		"redis_version:6.0.16",
		"maxmemory_policy:allkeys-lru", // without maxmemory nothing is evicted
		"maxmemory:100",                // nor with noeviction
		"maxmemory:100\r\nmaxmemory_policy:",
	} {
		if why := ParseInfo(fit + change + "\r\n").unfit(); why != "" {
			t.Errorf("%q: it is refused: %s", change, why)
		}
	}
}

func TestDurability(t *testing.T) {
	for text, want := range map[string]durability{
		"appendonly yes appendfsync always no-appendfsync-on-rewrite no":   durable,
		"appendonly no appendfsync always no-appendfsync-on-rewrite no":    NotDurable,
		"appendonly yes appendfsync everysec no-appendfsync-on-rewrite no": NotDurable,
		"appendonly yes appendfsync always no-appendfsync-on-rewrite yes":  NotDurable,
		"appendonly yes appendfsync everysec":                              NotDurable,
		"appendonly yes appendfsync always":                                unknown,
		"":                                                                 unknown,
	} {
		config := map[string]string{}
		for pair := range slices.Chunk(strings.Fields(text), 2) {
			config[pair[0]] = pair[1]
		}
		if got := durabilityOf(config); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// A server keeps its place over a restart if nothing of what it answered can be lost.
func TestWhatAServerIsJudgedToBe(t *testing.T) {
	never, once := strings.Repeat("0", 40), strings.Repeat("0", 39)+"a"
	weaker := map[string]string{"appendonly": "no"}
	for _, x := range []struct {
		claim               string
		replid2             string
		config              map[string]string
		durable, wasReplica bool
	}{
		{"all is on disk", never, DurabilitySettings, true, false},
		{"it was a replica once", once, DurabilitySettings, false, true},
		{"not all is on disk", never, weaker, false, false},
		{"both", once, weaker, false, true},
	} {
		got := Judge(ServerInfo{"redis_version": "7.0.15", "role": "master", "master_replid2": x.replid2}, x.config)
		if want := (Judgement{"", x.durable, x.wasReplica}); got != want {
			t.Errorf("%s: %+v, want %+v", x.claim, got, want)
		}
	}
}
