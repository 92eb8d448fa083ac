package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// declared are the exported names of the repository, without those of tests.
type declared struct {
	packages map[string]bool // by name
	names    map[string]bool // "package.Name", "package.Type.Member", "Type.Member", "Name"
}

func (d *declared) add(pkg, name string) {
	d.names[pkg+"."+name] = true
	d.names[name] = true
	if _, member, is := strings.Cut(name, "."); is {
		d.names[member] = true
	}
}

// declarations reads all Go files.
func declarations(t *testing.T) *declared {
	t.Helper()
	d := &declared{packages: map[string]bool{}, names: map[string]bool{}}
	files := token.NewFileSet()
	eachFile(t, func(file, text string) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		parsed, err := parser.ParseFile(files, file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		d.packages[parsed.Name.Name] = true
		for _, declaration := range parsed.Decls {
			d.declare(parsed.Name.Name, declaration)
		}
	}, ".go")
	return d
}

func (d *declared) declare(pkg string, declaration ast.Decl) {
	switch declaration := declaration.(type) {
	case *ast.FuncDecl:
		name := declaration.Name.Name
		if declaration.Recv != nil {
			name = receiver(declaration.Recv.List[0].Type) + "." + name
		}
		d.add(pkg, name)
	case *ast.GenDecl:
		for _, spec := range declaration.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					d.add(pkg, name.Name)
				}
			case *ast.TypeSpec:
				d.add(pkg, spec.Name.Name)
				for _, member := range members(spec.Type) {
					d.add(pkg, spec.Name.Name+"."+member)
				}
			}
		}
	}
}

func receiver(expression ast.Expr) string {
	switch expression := expression.(type) {
	case *ast.StarExpr:
		return receiver(expression.X)
	case *ast.IndexExpr:
		return receiver(expression.X)
	case *ast.Ident:
		return expression.Name
	}
	return ""
}

// members are the fields of a struct, or the methods of an interface.
func members(expression ast.Expr) (names []string) {
	var fields *ast.FieldList
	switch expression := expression.(type) {
	case *ast.StructType:
		fields = expression.Fields
	case *ast.InterfaceType:
		fields = expression.Methods
	default:
		return nil
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

var (
	goName    = regexp.MustCompile(`^(?:([a-z]\w*)\.)?([A-Z]\w*)(?:\.([A-Z]\w*))?(?:\([^)]*\))?$`)
	inProse   = regexp.MustCompile(`\b[A-Z][a-z]+[A-Z]\w*\b`)
	camel     = regexp.MustCompile(`[a-z][A-Z]|^[A-Z][a-z]+\.`)
	fileNamed = regexp.MustCompile(`^[\w-]+\.(?:go|lua|pml|sh|conf|acl|service)$`)
)

// knows tells whether a piece of code names something that is declared here; ours is false for what
// is no name, or may be one of others.
func (d *declared) knows(code string) (ours, known bool) {
	match := goName.FindStringSubmatch(code)
	switch {
	case match == nil, match[1] != "" && !d.packages[match[1]]:
		return false, false
	case match[1] == "" && !camel.MatchString(match[2]+"."+match[3]), match[1] == "" && match[3] == "" && !camel.MatchString(match[2]):
		return false, false // a word in capitals, or one that is no name of Go alone
	}
	return true, d.names[strings.Trim(strings.Join(match[1:], "."), ".")]
}

func TestKnowsNames(t *testing.T) {
	t.Parallel()
	d := &declared{packages: map[string]bool{"redlock": true}, names: map[string]bool{}}
	d.add("redlock", "Client.Verify")
	d.add("redlock", "WithFair")
	for code, want := range map[string][2]bool{
		"Client.Verify":              {true, true},
		"redlock.Client.Verify":      {true, true},
		"redlock.WithFair(true)":     {true, true},
		"WithFair":                   {true, true},
		"redlock.Verify":             {true, false},
		"Client.Gone":                {true, false},
		"WithGone":                   {true, false},
		"other.WithGone":             {false, false},
		"INFO":                       {false, false},
		"redlock init":               {false, false},
		"client.Verify":              {false, false},
		"redlock.Client.Verify.More": {false, false},
	} {
		if ours, known := d.knows(code); want != [2]bool{ours, known} {
			t.Errorf("%s: ours %t, known %t; want %v", code, ours, known, want)
		}
	}
}

// ofOthers are names that are not of this repository, without their package.
var ofOthers = []string{
	"TLSConfig", "OnConnect", "FencedLock", "LockIndex", // of go-redis, Redisson, Consul
	"GitHub", "OpenTelemetry",
	"StatefulSet", "PodDisruptionBudget", "DoNotSchedule", "WaitForFirstConsumer", // of Kubernetes
}

// What documents name is there: types, functions, methods and fields of Go, also outside of code,
// and files that they name without their folder. Pages about moving from other libraries are full
// of names of those, so that only names with our package are looked for.
func TestNamedGoExists(t *testing.T) {
	d := declarations(t)
	files := map[string]bool{}
	eachFile(t, func(file, _ string) { files[path.Base(filepath.ToSlash(file))] = true }, ".go", ".lua", ".pml", ".sh", ".conf", ".acl", ".service")
	named := 0
	for _, page := range all(t) {
		migration := strings.HasPrefix(page.Path, "docs/migrate/")
		for _, span := range page.Spans() {
			ours, known := d.knows(span.Text)
			switch {
			case fileNamed.MatchString(span.Text):
				ours, known = true, files[span.Text]
			case migration && !strings.HasPrefix(span.Text, "redlock."), slices.Contains(ofOthers, span.Text), testName.MatchString(span.Text):
				continue
			}
			if ours {
				named++
			}
			if ours && !known {
				t.Errorf("%s:%d: nothing is called %s", page.Path, span.Line, span.Text)
			}
		}
		if migration || page.Path == "docs/TRAPS.md" { // whose cases TestNamedTestsExist looks up
			continue
		}
		for _, name := range inProse.FindAllString(page.Prose(), -1) {
			named++
			if !d.names[name] && !slices.Contains(ofOthers, name) && !testName.MatchString(name) {
				t.Errorf("%s: nothing is called %s", page.Path, name)
			}
		}
	}
	if named < 200 {
		t.Errorf("%d names were found", named)
	}
	t.Log(named)
}
