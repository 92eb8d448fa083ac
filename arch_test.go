package redlock_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/harness"
)

// A package has only the dependencies listed here, because a program that imports it links all of them.
func TestDependencies(t *testing.T) {
	t.Parallel()
	lock := []string{
		"github.com/redlock-go/redlock", // itself, and its subpackages
		"github.com/redis/go-redis/v9",
		"github.com/google/uuid",
		"golang.org/x/sync/",
		"golang.org/x/sys/",
		"github.com/cespare/xxhash", "go.uber.org/atomic", // needed by go-redis
	}
	for _, c := range []struct {
		pkg     string
		allowed []string
		why     string
	}{
		{".", lock, "the root stays small: adapters, peers and tools live in modules of their own"},
		{"./admin", lock, "an operator needs no more than the lock"},
		{"./leader", lock, "an election needs no more than the lock"},
		{"./telemetry", lock, "exporters choose their metrics library"},
		{"./redlocktest", append(lock, "github.com/yuin/gopher-lua", "github.com/alicebob/miniredis/v2"), "tests of users need the lock and its masters, and nothing that ours need beside"},
		{"./fence", []string{"github.com/redlock-go/redlock/fence"}, "a store's service must not need a lock client"},
		{"./guard/httpguard", []string{"github.com/redlock-go/redlock/fence", "github.com/redlock-go/redlock/guard/httpguard"}, "a guard knows fence, and no lock client"},
	} {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", c.pkg).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", c.pkg, err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			forTests := strings.Contains(dep, "/internal/embedded") || strings.Contains(dep, "/redlocktest") || strings.Contains(dep, "/internal/direct")
			ok := !strings.Contains(dep, "/internal/redisproc") && !strings.Contains(dep, "/internal/harness") && (!forTests || c.pkg == "./redlocktest")
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

// Imports have one direction: a package may import only the listed packages, and only the listed root files import
// go-redis.
func TestImports(t *testing.T) {
	t.Parallel()
	const (
		module  = "github.com/redlock-go/redlock"
		goRedis = "github.com/redis/go-redis/v9"
	)
	may := map[string][]string{ // the packages of our own that each directory may import
		"scripts":             {},
		"fence":               {},
		"internal/clock":      {},
		"internal/identity":   {},
		"internal/limits":     {},
		"internal/printable":  {},
		"internal/script":     {"internal/clock", "scripts"},
		"internal/master":     {"internal/clock", "internal/script"},
		"internal/masterurl":  {},
		"internal/membership": {"internal/clock", "internal/printable", "internal/script", "internal/master"},
		"internal/lease":      {"fence", "internal/clock", "internal/master", "internal/membership", "internal/quorum", "internal/script", "internal/unwind", "internal/waitqueue"},
		"internal/announce":   {"internal/master"},
		"internal/ask":        {"internal/clock", "internal/master", "internal/membership", "internal/printable", "internal/quorum", "internal/script"},
		"internal/acquire":    {"internal/ask", "internal/clock", "internal/identity", "internal/lease", "internal/limits", "internal/master", "internal/masterurl", "internal/membership", "internal/printable", "internal/quorum", "internal/script", "internal/unwind", "internal/waitqueue"},
		"internal/quorum":     {"fence", "internal/clock", "internal/master", "internal/membership", "internal/script"},
		"internal/waitqueue":  {"internal/clock"},
		"internal/unwind":     {},
		"internal/core":       {"fence", "internal/acquire"},
		".":                   {"fence", "internal/acquire", "internal/announce", "internal/ask", "internal/clock", "internal/core", "internal/identity", "internal/lease", "internal/limits", "internal/printable", "internal/script", "internal/master", "internal/masterurl", "internal/membership", "internal/quorum", "internal/unwind"},
		"admin":               {".", "fence", "internal/acquire", "internal/core", "internal/identity", "internal/limits", "internal/master", "internal/membership", "internal/printable", "internal/quorum", "internal/script"},
	}
	needGoRedis := map[string]bool{"open.go": true, "internal/masterurl/url.go": true} // and all of internal/master
	out, err := exec.Command("go", "list", "-deps", "-f", `{{if not .Standard}}{{.ImportPath}}{{range .GoFiles}} {{.}}{{end}}{{end}}`, "./admin").Output()
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
			harness.Must(t, err)
			for _, spec := range file.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				harness.Must(t, err)
				own, isOwn := strings.CutPrefix(imported, module+"/")
				if imported == module {
					own, isOwn = ".", true
				}
				switch {
				case isOwn && !slices.Contains(allowed, own):
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

// Libraries that are modules of their own import no internal package of the root, because a program
// may link them with another version of the root. (Tests, and the programs of this repository, are
// built with the root beside them.)
func TestModulesImportWhatIsPublic(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, pattern := range []string{"redlockotel/*.go", "adapter/*/*.go", "guard/redisguard/*.go", "guard/sqlguard/*.go"} {
		files, err := filepath.Glob(pattern)
		harness.Must(t, err)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			seen++
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			harness.Must(t, err)
			for _, spec := range file.Imports {
				if strings.HasPrefix(spec.Path.Value, `"github.com/redlock-go/redlock/internal/`) {
					t.Errorf("%s imports %s", name, spec.Path.Value)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d files were read", seen)
	}
}

// A client keeps its state itself. Package state would be shared by the clients of a simulation, which represent
// separate processes.
func TestNoPackageState(t *testing.T) {
	t.Parallel()
	const list = `{{with .Module}}{{if eq .Path "github.com/redlock-go/redlock"}}{{range $.GoFiles}}{{$.Dir}}/{{.}} {{end}}{{end}}{{end}}`
	out, err := exec.Command("go", "list", "-deps", "-f", list, "./admin").Output()
	harness.Must(t, err)
	for _, name := range strings.Fields(string(out)) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		harness.Must(t, err)
		for _, decl := range file.Decls {
			vars, is := decl.(*ast.GenDecl)
			if !is || vars.Tok != token.VAR {
				continue
			}
			for _, spec := range vars.Specs {
				of := spec.(*ast.ValueSpec)
				if kind, is := of.Type.(*ast.SelectorExpr); is && slices.Contains([]string{"sync", "atomic"}, kind.X.(*ast.Ident).Name) {
					t.Errorf("%s: %s is one for all clients of a process", name, of.Names[0])
				}
			}
		}
	}
}
