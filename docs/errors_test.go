package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The table in OPERATIONS.md has every exported error, and no other.
func TestTableOfErrors(t *testing.T) {
	t.Parallel()
	exported := map[string]bool{}
	for name, dir := range map[string]string{"redlock": "..", "fence": "../fence", "leader": "../leader", "admin": "../admin"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, variable := range variablesOf(t, file) {
				if strings.HasPrefix(variable, "Err") {
					exported[name+"."+variable] = true
				}
			}
		}
	}
	listed := map[string]bool{}
	_, section, _ := strings.Cut(read(t, "OPERATIONS.md"), "\n## Errors\n")
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+\\.\\w+)` \\| .+ \\|.*\\|$").FindAllStringSubmatch(section, -1) {
		listed[row[1]] = true
	}
	if len(exported) == 0 || !maps.Equal(exported, listed) {
		t.Errorf("exported are\n%v, and the table has\n%v", exported, listed)
	}
}

// variablesOf are the names that a file declares by var.
func variablesOf(t *testing.T, file string) (names []string) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range parsed.Decls {
		if group, is := declaration.(*ast.GenDecl); is && group.Tok == token.VAR {
			for _, spec := range group.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}
