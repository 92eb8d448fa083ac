package redlock

import (
	"os/exec"
	"strings"
	"testing"
)

// What a package may need is decided here, with the reason. Who imports the lock
// links all of it.
func TestDependencies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pkg     string
		allowed []string
		why     string
	}{
		{".", []string{
			"github.com/redlock-go/redlock", // itself and fence
			"github.com/redis/go-redis/v9",
			"github.com/google/uuid",
			"golang.org/x/sync/",
			"golang.org/x/sys/",
			"github.com/cespare/xxhash", "github.com/dgryski/go-rendezvous", // go-redis's own
		}, "the root stays small: adapters, peers and tools live in modules of their own"},
		{"./fence", []string{"github.com/redlock-go/redlock/fence"}, "a store's service must not need a lock client"},
		{"./guard/httpguard", []string{"github.com/redlock-go/redlock/fence", "github.com/redlock-go/redlock/guard/httpguard"}, "a guard knows fence, and no lock client"},
	} {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", c.pkg).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", c.pkg, err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			ok := !strings.Contains(dep, "/internal/embedded") && !strings.Contains(dep, "/internal/redisproc")
			any := false
			for _, a := range c.allowed {
				any = any || strings.HasPrefix(dep, a)
			}
			if !ok || !any {
				t.Errorf("%s needs %s: %s", c.pkg, dep, c.why)
			}
		}
	}
}

// Only a master's room may speak to go-redis, and what makes masters.
func TestOnlyOneRoomSpeaksToRedis(t *testing.T) {
	t.Parallel()
	rooms := map[string]bool{"master.go": true, "link.go": true, "request.go": true, "departures.go": true, "open.go": true, "dial.go": true, "urls.go": true, "side.go": true, "subscribe.go": true}
	out, err := exec.Command("grep", "-l", "go-redis/v9", "--include=*.go", "-r", "--exclude-dir=internal", "--exclude-dir=bench", "--exclude-dir=guard", "--exclude-dir=cmd", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.FieldsSeq(string(out)) {
		name := strings.TrimPrefix(file, "./")
		if !strings.HasSuffix(name, "_test.go") && !rooms[name] {
			t.Errorf("%s imports go-redis", name)
		}
	}
}
