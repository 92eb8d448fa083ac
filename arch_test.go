package redlock

import (
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
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
		{"./leader", []string{
			"github.com/redlock-go/redlock", "github.com/redis/go-redis/v9", "github.com/google/uuid", "golang.org/x/sync/", "golang.org/x/sys/",
			"github.com/cespare/xxhash", "github.com/dgryski/go-rendezvous",
		}, "an election needs no more than the lock"},
		{"./redlocktest", []string{
			"github.com/redlock-go/redlock", "github.com/redis/go-redis/v9", "github.com/google/uuid", "golang.org/x/sync/", "golang.org/x/sys/",
			"github.com/cespare/xxhash", "github.com/dgryski/go-rendezvous",
			"github.com/yuin/gopher-lua", // its masters'
		}, "tests of users need the lock and its masters, and nothing that ours need beside"},
		{"./fence", []string{"github.com/redlock-go/redlock/fence"}, "a store's service must not need a lock client"},
		{"./guard/httpguard", []string{"github.com/redlock-go/redlock/fence", "github.com/redlock-go/redlock/guard/httpguard"}, "a guard knows fence, and no lock client"},
	} {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", c.pkg).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", c.pkg, err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			forTests := strings.Contains(dep, "/internal/embedded") || strings.Contains(dep, "/redlocktest") || strings.Contains(dep, "/internal/direct")
			ok := !strings.Contains(dep, "/internal/redisproc") && (!forTests || c.pkg == "./redlocktest")
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

// An election is made of the lock's API: whoever wants another can make it too.
func TestLeaderNeedsOnlyTheAPI(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, "./leader").Output()
	must(t, err)
	for imported := range strings.FieldsSeq(string(out)) {
		if strings.Contains(imported, ".") && imported != "github.com/redlock-go/redlock" && imported != "github.com/redlock-go/redlock/fence" {
			t.Errorf("leader imports %s", imported)
		}
	}
}

// Imports among the packages of the lock have one direction: a package may import those
// that are listed, and of the lock's files only those that are listed may import
// go-redis.
func TestImports(t *testing.T) {
	t.Parallel()
	const (
		module  = "github.com/redlock-go/redlock"
		goRedis = "github.com/redis/go-redis/v9"
	)
	may := map[string][]string{ // of our own packages, by directory
		"scripts":             {},
		"fence":               {},
		"internal/clock":      {},
		"internal/printable":  {},
		"internal/script":     {"internal/clock", "scripts"},
		"internal/master":     {"internal/clock", "internal/script"},
		"internal/masterurl":  {},
		"internal/membership": {"internal/clock", "internal/printable", "internal/script", "internal/master"},
		"internal/lease":      {"fence", "internal/clock", "internal/master", "internal/membership", "internal/quorum", "internal/script", "internal/unwind", "internal/waitqueue"},
		"internal/quorum":     {"fence", "internal/clock", "internal/master", "internal/membership", "internal/script"},
		"internal/waitqueue":  {"internal/clock"},
		"internal/unwind":     {},
		"internal/testhook":   {"internal/clock"},
		".":                   {"fence", "internal/clock", "internal/lease", "internal/printable", "internal/script", "internal/master", "internal/masterurl", "internal/membership", "internal/quorum", "internal/testhook", "internal/unwind", "internal/waitqueue"},
	}
	needGoRedis := map[string]bool{"open.go": true, "internal/masterurl/url.go": true} // and all of internal/master
	out, err := exec.Command("go", "list", "-deps", "-f", `{{if not .Standard}}{{.ImportPath}}{{range .GoFiles}} {{.}}{{end}}{{end}}`, ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != module && !strings.HasPrefix(fields[0], module+"/") {
			continue
		}
		dir := path.Join(".", strings.TrimPrefix(fields[0], module+"/"))
		if fields[0] == module {
			dir = "."
		}
		allowed, known := may[dir]
		if !known {
			t.Errorf("%s is no package of the lock", dir)
			continue
		}
		seen++
		for _, name := range fields[1:] {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.ImportsOnly)
			must(t, err)
			for _, spec := range file.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				must(t, err)
				own, isOwn := strings.CutPrefix(imported, module+"/")
				switch {
				case isOwn && !slices.Contains(allowed, own), imported == module:
					t.Errorf("%s/%s imports %s", dir, name, imported)
				case strings.HasPrefix(imported, goRedis) && dir != "internal/master" && !needGoRedis[path.Join(dir, name)]:
					t.Errorf("%s/%s imports go-redis", dir, name)
				}
			}
		}
	}
	if seen != len(may) {
		t.Errorf("%d packages were looked at, want %d", seen, len(may))
	}
}
