package redlocktest_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// New and each method that changes a deployment have an example. All examples are run, except the example
// of virtual time, which needs a *testing.T.
func TestEachMethodHasExample(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, path := range paths {
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	pkg, err := doc.NewFromFiles(files, parsed, "github.com/redlock-go/redlock/redlocktest")
	if err != nil {
		t.Fatal(err)
	}
	deployment := pkg.Types[slices.IndexFunc(pkg.Types, func(typ *doc.Type) bool { return typ.Name == "Deployment" })]
	for _, f := range slices.Concat(deployment.Funcs, deployment.Methods) {
		if slices.Contains([]string{"Client", "URLs", "Start", "Thaw"}, f.Name) {
			continue // these do not change a deployment, or undo what another method did
		}
		if len(f.Examples) == 0 {
			t.Errorf("%s has no example", f.Name)
		}
		for _, e := range f.Examples {
			if e.Suffix != "virtualTime" && e.Output == "" {
				t.Errorf("the example of %s does not run", f.Name)
			}
		}
	}
}
