package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redlock-go/redlock/internal/documents"
)

// What the documents tell a reader to run is there: packages, tests, benchmarks, flags, targets of
// make, scripts. (What redlock itself takes is asked in cmd/redlock, and which workloads bench has
// in bench.)
func TestNamedCommandsExist(t *testing.T) {
	counts := map[string]int{}
	for _, d := range all(t) {
		for _, c := range d.Commands() {
			kind, err := check(c)
			if err != nil {
				t.Errorf("%s: %s: %v", c.Where, strings.Join(c.Words, " "), err)
			}
			counts[kind]++
		}
	}
	t.Log(counts)
	for _, kind := range []string{"go test", "go run", "make", "flags"} {
		if counts[kind] == 0 {
			t.Errorf("no %s was found", kind)
		}
	}
}

// check tells what kind of command c is, and what is wrong with it.
func check(c documents.Command) (kind string, err error) {
	words := c.Words
	switch {
	case words[0] == "go" && len(words) > 1 && words[1] == "test":
		return "go test", checkGoTest(c.Dir, words[2:])
	case words[0] == "go" && len(words) > 2 && words[1] == "run":
		return "go run", checkGoRun(c, words[2:])
	case words[0] == "go" && len(words) > 2 && slices.Contains([]string{"build", "vet"}, words[1]):
		return "go build", checkPackages(c.Dir, words[2:])
	case words[0] == "make" && len(words) == 2:
		return "make", checkTarget(words[1])
	case words[0] == "." && len(words) == 2, words[0] == "bash" && len(words) > 1 && strings.HasSuffix(words[1], ".sh"):
		return "script", exists(path.Join(c.Dir, words[1]))
	case words[0] == "cd" && len(words) == 2 && !strings.HasPrefix(words[1], "..") && !strings.HasPrefix(words[1], "$"):
		return "cd", exists(words[1])
	case strings.HasPrefix(words[0], "-") && flagName.MatchString(words[0]) && !c.Whole:
		return "flags", checkFlags(words)
	}
	return "other", nil
}

var (
	flagName    = regexp.MustCompile(`^-([a-z]+(?:\.[a-z]+)?)(?:=(.*))?$`)
	placeholder = regexp.MustCompile(`^[A-Z]+$`)
)

// flagsOfGoTest are those of go test that documents use, and whether a value comes in the next
// word.
var flagsOfGoTest = map[string]bool{
	"run": true, "bench": true, "benchtime": true, "cpuprofile": true, "timeout": true, "count": true,
	"v": false, "race": false,
}

// checkGoTest looks for the packages, flags and tests of the words behind go test.
func checkGoTest(dir string, words []string) error {
	var packages []string
	patterns := map[string]string{}
	var own []string
	for i := 0; i < len(words); i++ {
		match := flagName.FindStringSubmatch(words[i])
		if match == nil {
			packages = append(packages, words[i])
			continue
		}
		name, value := match[1], match[2]
		takesValue, known := flagsOfGoTest[name]
		switch {
		case !known:
			own = append(own, name)
		case takesValue && value == "":
			i++
			if i == len(words) {
				return fmt.Errorf("-%s has no value", name)
			}
			patterns[name] = words[i]
		default:
			patterns[name] = value
		}
	}
	if len(packages) == 0 {
		return fmt.Errorf("no package")
	}
	tests, err := inspect(dir, packages)
	if err != nil {
		return err
	}
	for _, name := range own {
		if !slices.Contains(tests.flags, name) {
			return fmt.Errorf("no flag -%s", name)
		}
	}
	if err := tests.match(patterns["bench"], "Benchmark"); err != nil {
		return err
	}
	return tests.match(patterns["run"], "Test", "Example", "Fuzz")
}

// checkFlags looks for flags that are named without a command: they are those of go test, of the
// tests in the root, of bench or of mutation.
func checkFlags(words []string) error {
	root, err := inspect(".", []string{".", "./spec", "./spec/register"})
	if err != nil {
		return err
	}
	bench, err := inspect("bench", []string{"."})
	if err != nil {
		return err
	}
	mutation, err := inspect(".", []string{"./internal/mutation"})
	if err != nil {
		return err
	}
	for i, word := range words {
		match := flagName.FindStringSubmatch(word)
		if match == nil {
			continue
		}
		name, value := match[1], match[2]
		if value == "" && i+1 < len(words) {
			value = words[i+1]
		}
		_, goTest := flagsOfGoTest[name]
		switch {
		case name == "bench" && value != "":
			if err := root.match(value, "Benchmark"); err != nil {
				return err
			}
		case name == "run" && value != "":
			if err := root.match(value, "Test", "Example", "Fuzz"); err != nil {
				return err
			}
		case !goTest && !slices.Contains(slices.Concat(root.flags, bench.flags, mutation.flags), name):
			return fmt.Errorf("no flag -%s", name)
		}
	}
	return nil
}

// checkGoRun looks for the program, and for its flags if it is bench. In a sentence "go run ." is
// bench.
func checkGoRun(c documents.Command, words []string) error {
	dir := path.Join(c.Dir, words[0])
	switch {
	case strings.Contains(words[0], "@"), dir == "." && c.Whole: // elsewhere; the reader's own
		return nil
	case dir != "." && dir != "bench":
		return exists(dir)
	}
	bench, err := inspect("bench", []string{"."})
	if err != nil {
		return err
	}
	for _, word := range words[1:] {
		if flag := flagName.FindStringSubmatch(word); flag != nil && !slices.Contains(bench.flags, flag[1]) {
			return fmt.Errorf("bench has no flag -%s", flag[1])
		}
	}
	return nil
}

// checkPackages looks for the packages among the words behind go vet and go build.
func checkPackages(dir string, words []string) error {
	for _, word := range words {
		if strings.HasPrefix(word, "./") {
			if err := exists(path.Join(dir, strings.TrimSuffix(word, "..."))); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkTarget(target string) error {
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		return err
	}
	if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).Match(text) {
		return fmt.Errorf("no such target")
	}
	return nil
}

// code is what matters here of some packages.
type code struct {
	functions []string // of their tests
	literals  []string // of their tests: names of subtests are among them, mostly
	flags     []string // that they declare
}

// inspect reads packages as go test has them, relative to dir.
func inspect(dir string, packages []string) (*code, error) {
	var all code
	for _, name := range packages {
		pattern, deep := strings.CutSuffix(name, "...")
		at := filepath.Join("..", dir, pattern)
		dirs := []string{at}
		if deep {
			below, err := filepath.Glob(filepath.Join(at, "*"))
			if err != nil {
				return nil, err
			}
			dirs = append(dirs, below...)
		}
		found := 0
		for _, dir := range dirs {
			one, err := codeOf(dir)
			if err != nil {
				return nil, err
			}
			if one != nil {
				found++
				all.functions = append(all.functions, one.functions...)
				all.literals = append(all.literals, one.literals...)
				all.flags = append(all.flags, one.flags...)
			}
		}
		if found == 0 {
			return nil, fmt.Errorf("%s: no package", name)
		}
	}
	return &all, nil
}

// parsed has what codeOf has read.
var parsed sync.Map // of *code, by folder

// codeOf reads the package in a folder; nil if there is none.
func codeOf(dir string) (*code, error) {
	if known, is := parsed.Load(dir); is {
		return known.(*code), nil
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	c := &code{}
	files := token.NewFileSet()
	for _, name := range paths {
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		isTest := strings.HasSuffix(name, "_test.go")
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.FuncDecl:
				if isTest && node.Recv == nil {
					c.functions = append(c.functions, node.Name.Name)
				}
			case *ast.BasicLit:
				if isTest {
					c.literals = append(c.literals, strings.ReplaceAll(literal(node), " ", "_"))
				}
			case *ast.CallExpr:
				if name := declaredFlag(node); name != "" {
					c.flags = append(c.flags, name)
				}
			}
			return true
		})
	}
	parsed.Store(dir, c)
	return c, nil
}

// declaredFlag is the name of the flag that a call of package flag, or of a flag set, declares.
func declaredFlag(call *ast.CallExpr) string {
	selector, is := call.Fun.(*ast.SelectorExpr)
	if !is || len(call.Args) < 2 {
		return ""
	}
	if set, is := selector.X.(*ast.Ident); !is || set.Name != "flag" && set.Name != "flags" {
		return ""
	}
	for _, argument := range call.Args[:2] { // FlagSet.StringVar has it second
		if name, is := argument.(*ast.BasicLit); is && name.Kind == token.STRING {
			return literal(name)
		}
	}
	return ""
}

func literal(node *ast.BasicLit) string {
	if node.Kind != token.STRING {
		return node.Value
	}
	text, err := strconv.Unquote(node.Value)
	if err != nil {
		return ""
	}
	return text
}

// match reports which part of a pattern of -run or -bench matches nothing. A pattern in capitals
// stands for one of the reader's.
func (c *code) match(pattern string, prefixes ...string) error {
	if pattern == "" || pattern == "^$" || placeholder.MatchString(pattern) {
		return nil
	}
	isTest := func(name string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	}
	functions := slices.DeleteFunc(slices.Clone(c.functions), func(name string) bool { return !isTest(name) })
	for level, element := range strings.Split(pattern, "/") {
		among := functions
		if level > 0 {
			among = c.literals
		}
		for _, alternative := range alternatives(element) {
			expression, err := regexp.Compile(alternative)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(among, expression.MatchString) {
				return fmt.Errorf("nothing is called %s", alternative)
			}
		}
	}
	return nil
}

// alternatives splits a regular expression at each | that is in no parentheses.
func alternatives(expression string) (all []string) {
	depth, begin := 0, 0
	for i, c := range expression {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth == 0 {
				all = append(all, expression[begin:i])
				begin = i + 1
			}
		}
	}
	return append(all, expression[begin:])
}

var (
	testName  = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz|Example)[A-Z_]\w*`)
	testPath  = regexp.MustCompile(`\bTest[\w/=]+`)
	camelCase = regexp.MustCompile(`\b[A-Z][a-z]*(?:[A-Z]+[a-z]*)+\b`)
)

// Tests that documents name exist; so do the cases that TRAPS.md names without Test.
func TestNamedTestsExist(t *testing.T) {
	root, err := inspect(".", []string{".", "admin", "scripts", "internal/master", "internal/faulttest"})
	if err != nil {
		t.Fatal(err)
	}
	everywhere := functionsEverywhere(t)
	named := 0
	for _, d := range all(t) {
		for _, name := range testName.FindAllString(d.Unfenced(), -1) {
			named++
			if !everywhere[name] && !slices.ContainsFunc(root.functions, func(f string) bool { return strings.HasPrefix(f, name) }) {
				t.Errorf("%s: no test is called %s", d.Path, name)
			}
		}
	}
	traps, _, _ := strings.Cut(read(t, "TRAPS.md"), "\n## ")
	for line := range strings.Lines(traps) {
		cells := strings.Split(strings.Trim(line, "|\n"), " | ")
		if len(cells) != 3 || !regexp.MustCompile(`^\d+$`).MatchString(strings.TrimSpace(cells[0])) {
			continue
		}
		for _, name := range camelCase.FindAllString(testPath.ReplaceAllString(cells[2], ""), -1) {
			if !slices.Contains(root.literals, name) {
				t.Errorf("TRAPS.md: no case is called %s", name)
			}
		}
		named++
	}
	if named < 50 {
		t.Errorf("%d tests are named", named)
	}
}

var function = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)`)

// functionsEverywhere are the tests of all modules.
func functionsEverywhere(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	eachFile(t, func(path, text string) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, match := range function.FindAllStringSubmatch(text, -1) {
			all[match[1]] = true
		}
	}, ".go")
	return all
}
