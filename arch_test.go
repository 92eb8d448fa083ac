package redlock_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redlock-go/redlock/internal/harness"
)

// What a package may need is decided here, with the reason. Who imports the lock links all of it.
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
		{"./admin", []string{
			"github.com/redlock-go/redlock", "github.com/redis/go-redis/v9", "github.com/google/uuid", "golang.org/x/sync/", "golang.org/x/sys/",
			"github.com/cespare/xxhash", "github.com/dgryski/go-rendezvous",
		}, "an operator needs no more than the lock"},
		{"./agent", []string{
			"github.com/redlock-go/redlock", "github.com/redis/go-redis/v9", "github.com/google/uuid", "golang.org/x/sync/", "golang.org/x/sys/",
			"github.com/cespare/xxhash", "github.com/dgryski/go-rendezvous",
		}, "net/http is enough for an agent"},
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

// An election is made of the lock's API, but for a check of its options and the longest name:
// whoever wants another can make it too.
func TestLeaderNeedsOnlyTheAPI(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, "./leader").Output()
	harness.Must(t, err)
	for imported := range strings.FieldsSeq(string(out)) {
		own, isOwn := strings.CutPrefix(imported, "github.com/redlock-go/redlock")
		if strings.Contains(imported, ".") && !(isOwn && slices.Contains([]string{"", "/admin", "/fence", "/internal/core", "/internal/limits"}, own)) {
			t.Errorf("leader imports %s", imported)
		}
	}
}

// Imports among the packages of the lock have one direction: a package may import those that are
// listed, and of the lock's files only those that are listed may import go-redis.
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
		"internal/testhook":   {"internal/acquire", "internal/clock", "internal/lease"},
		"internal/core":       {"fence", "internal/acquire", "internal/ask", "internal/clock"},
		".":                   {"fence", "internal/acquire", "internal/announce", "internal/ask", "internal/clock", "internal/core", "internal/identity", "internal/lease", "internal/limits", "internal/printable", "internal/script", "internal/master", "internal/masterurl", "internal/membership", "internal/quorum", "internal/testhook", "internal/unwind"},
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

// What a client learns it keeps itself. What a package keeps, clients in other processes do not
// know; those of a simulation would, which are to be as strange to each other as processes.
func TestNoPackageRemembers(t *testing.T) {
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

// mostNames is how many exported names the page of the root package has at most: constants,
// variables, types, functions, and the methods of its types. Fields do not count. What is for
// operators is in package admin.
const mostNames = 110

func TestExportedNames(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	var parsed []*ast.File
	names, err := filepath.Glob("*.go")
	harness.Must(t, err)
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			file, err := parser.ParseFile(files, name, nil, parser.ParseComments)
			harness.Must(t, err)
			parsed = append(parsed, file)
		}
	}
	page, err := doc.NewFromFiles(files, parsed, "github.com/redlock-go/redlock")
	harness.Must(t, err)
	var all []string
	values := func(groups []*doc.Value) {
		for _, group := range groups {
			all = append(all, slices.DeleteFunc(group.Names, func(name string) bool { return !ast.IsExported(name) })...)
		}
	}
	functions := func(of string, functions []*doc.Func) {
		for _, f := range functions {
			all = append(all, of+f.Name)
		}
	}
	values(page.Consts)
	values(page.Vars)
	functions("", page.Funcs)
	for _, is := range page.Types {
		all = append(all, is.Name)
		values(is.Consts)
		values(is.Vars)
		functions("", is.Funcs)
		functions(is.Name+".", is.Methods)
	}
	if len(all) > mostNames {
		t.Errorf("%d names are exported, want at most %d: %s", len(all), mostNames, strings.Join(all, ", "))
	}
	t.Logf("%d names are exported", len(all))
}

// Comments wrap at one width. What is shown in documents, lists and code are left as they are.
func TestCommentsWrapAtOneWidth(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "ls-files", "*.go").Output()
	harness.Must(t, err)
	shown := []string{"docs/fencing_test.go", "bench/migrate_test.go"}
	for file := range strings.FieldsSeq(string(out)) {
		if slices.Contains(shown, file) || strings.Contains(file, "testdata") {
			continue
		}
		text, err := os.ReadFile(file)
		harness.Must(t, err)
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")
			words, is := strings.CutPrefix(strings.TrimLeft(line, " "), "// ")
			if is && !strings.HasPrefix(words, " ") && utf8.RuneCountInString(line) > 100 {
				t.Errorf("%s:%d: a comment of %d columns", file, number, utf8.RuneCountInString(line))
			}
		}
	}
}
