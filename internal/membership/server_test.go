package membership

import (
	"slices"
	"strings"
	"testing"
)

func TestUnfitServers(t *testing.T) {
	fit := "redis_version:7.0.15\r\nredis_mode:standalone\r\n"
	valkey := strings.ReplaceAll(fit, "redis_mode", "server_mode")
	if why := ParseInfo(valkey).unfit(); why != "" {
		t.Errorf("a plain Valkey server is refused: %s", why)
	}
	for _, mode := range []string{"sentinel", "cluster"} {
		hint := map[string]string{"sentinel": "NewFailoverClient", "cluster": "Cluster"}[mode]
		if why := ParseInfo(valkey + "server_mode:" + mode + "\r\n").unfit(); !strings.Contains(why, hint) {
			t.Errorf("Valkey in the mode %s: %q lacks %q", mode, why, hint)
		}
	}
	if why := ParseInfo(fit).unfit(); why != "" {
		t.Errorf("a plain server is refused: %s", why)
	}
	for change, word := range map[string]string{
		"redis_version:5.0.14": "version",
		"redis_mode:cluster":   "Cluster",
		"cluster_enabled:1":    "Cluster",
		"redis_mode:sentinel":  "NewFailoverClient",
	} {
		if why := ParseInfo(fit + change + "\r\n").unfit(); !strings.Contains(why, word) {
			t.Errorf("%q: %q lacks %q", change, why, word)
		}
	}
	if why := ParseInfo(fit + "redis_version:6.0.16\r\n").unfit(); why != "" {
		t.Errorf("Redis 6.0 is refused: %s", why)
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

// A server keeps its place over a restart if no write that the server acknowledged can be lost.
func TestJudge(t *testing.T) {
	weaker, none := map[string]string{"appendonly": "no"}, map[string]string{}
	replica := map[string]string{".replica": "a1"}
	for _, x := range []struct {
		claim          string
		config, report map[string]string
		want           Judgement
	}{
		{"all is on disk", DurabilitySettings, none, Judgement{Durable: true}},
		{"it was a replica once", DurabilitySettings, replica, Judgement{WasReplica: true}},
		{"not all is on disk", weaker, none, Judgement{}},
		{"both", weaker, replica, Judgement{WasReplica: true}},
		{"it may not vote", DurabilitySettings, map[string]string{".unfit": "it evicts"}, Judgement{Unfit: "it evicts", Durable: true}},
		{"it lacks data", weaker, map[string]string{".forgot": "it evicted"}, Judgement{Unfit: "it evicted"}},
		{"its AOF is off", weaker, map[string]string{".weak": "its AOF"}, Judgement{Unfit: "its AOF"}},
	} {
		if got := Judge(ServerInfo{"redis_version": "7.0.15"}, x.config, x.report); got != x.want {
			t.Errorf("%s: %+v, want %+v", x.claim, got, x.want)
		}
	}
}
