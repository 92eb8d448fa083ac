package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/documents"
)

// code has the names that documents may use.
type code struct {
	packages map[string]bool
	names    map[string]bool            // identifiers outside of tests and comments
	tests    map[string]map[string]bool // functions of tests, by folder
	texts    map[string]bool            // literals of tests, with _ for each space: cases are among them
}

func readCode(t *testing.T) code {
	t.Helper()
	c := code{map[string]bool{}, map[string]bool{}, map[string]map[string]bool{}, map[string]bool{}}
	files := token.NewFileSet()
	eachFile(t, func(file, text string) {
		parsed, err := parser.ParseFile(files, file, text, parser.SkipObjectResolution)
		must(t, err)
		folder, isTest := path.Dir(filepath.ToSlash(file)), strings.HasSuffix(file, "_test.go")
		if c.tests[folder] == nil {
			c.tests[folder] = map[string]bool{}
		}
		for _, declaration := range parsed.Decls {
			if d, is := declaration.(*ast.FuncDecl); is && isTest && d.Recv == nil {
				c.tests[folder][d.Name.Name] = true
			}
		}
		if !isTest {
			c.packages[parsed.Name.Name] = true
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.Ident:
				c.names[node.Name] = c.names[node.Name] || !isTest
			case *ast.BasicLit:
				c.texts[strings.ReplaceAll(strings.Trim(node.Value, "`\""), " ", "_")] = isTest
			}
			return true
		})
	}, ".go")
	return c
}

// testsOf returns the test functions of packages. The packages are named as for go test, relative to dir.
func (c code) testsOf(dir string, packages []string) (all []string, err error) {
	for _, name := range packages {
		pattern, deep := strings.CutSuffix(name, "...")
		at, found := path.Join("..", dir, pattern), false
		for folder, tests := range c.tests {
			if folder == at || deep && strings.HasPrefix(folder, at) {
				found = true
				all = slices.AppendSeq(all, maps.Keys(tests))
			}
		}
		if !found {
			return nil, fmt.Errorf("%s: no package", name)
		}
	}
	return all, nil
}

var (
	takesValue  = regexp.MustCompile(`^-(?:run|bench|benchtime|cpuprofile|timeout|count)$`)
	placeholder = regexp.MustCompile(`^[A-Z]+$`)
)

// checkGoTest returns an error if words, the arguments of go test, name a package or a test that does not exist.
func (c code) checkGoTest(dir string, words []string) error {
	var packages, patterns []string
	for i := 0; i < len(words); i++ {
		word := words[i]
		if takesValue.MatchString(word) && i+1 < len(words) {
			i++
			word += "=" + words[i]
		}
		flag, pattern, _ := strings.Cut(word, "=")
		switch {
		case flag == "-run" || flag == "-bench":
			patterns = append(patterns, pattern)
		case !strings.HasPrefix(flag, "-"):
			packages = append(packages, word)
		}
	}
	tests, err := c.testsOf(dir, packages)
	for _, pattern := range patterns {
		if err == nil && pattern != "^$" && !placeholder.MatchString(pattern) {
			err = c.match(tests, pattern)
		}
	}
	return err
}

// match reports which part of a pattern of -run or -bench matches nothing.
func (c code) match(tests []string, pattern string) error {
	for level, element := range strings.Split(pattern, "/") {
		among := tests
		if level > 0 {
			among = slices.Collect(maps.Keys(c.texts))
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

// alternatives splits a regular expression at each | that is outside of parentheses.
func alternatives(expression string) (all []string) {
	begun := ""
	for part := range strings.SplitSeq(expression, "|") {
		if begun += part; strings.Count(begun, "(") > strings.Count(begun, ")") {
			begun += "|"
			continue
		}
		all, begun = append(all, begun), ""
	}
	return all
}

// check returns what is wrong with a command that runs go, make or bash. cmd/redlock and bench check their own
// commands.
func (c code) check(t *testing.T, command documents.Command) error {
	words := command.Words
	switch {
	case len(words) > 2 && words[0] == "go" && words[1] == "test":
		return c.checkGoTest(command.Dir, words[2:])
	case len(words) > 2 && words[0] == "go" && words[1] == "run" && words[2] != "." && !strings.Contains(words[2], "@"):
		return exists(path.Join(command.Dir, words[2]))
	case len(words) == 2 && words[0] == "make":
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(words[1]) + `:`).MatchString(read(t, "../Makefile")) {
			return fmt.Errorf("no such target")
		}
	case len(words) > 1 && words[0] == "bash" && strings.HasSuffix(words[1], ".sh"):
		return exists(path.Join(command.Dir, words[1]))
	}
	return nil
}

var (
	testName  = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz|Example)[A-Z_]\w*`)
	testPath  = regexp.MustCompile(`\bTest[\w/=]+`)
	camelCase = regexp.MustCompile(`\b[A-Z][a-z]*(?:[A-Z]+[a-z]*)+\b`)
	trapRow   = regexp.MustCompile(`(?m)^\| \d+ \| .* \| (.*) \|$`)
	goName    = regexp.MustCompile(`^(?:([a-z]\w*)\.)?([A-Z]\w*)(?:\.([A-Z]\w*))?(?:\([^)]*\))?$`)
	inProse   = regexp.MustCompile(`\b[A-Z][a-z]+[A-Z]\w*\b`)
)

// ofOthers are names that are not of this repository.
var ofOthers = []string{
	"TLSConfig", "OnConnect", "FencedLock", "LockIndex", // of go-redis, Redisson, Consul
	"GitHub", "OpenTelemetry",
	"StatefulSet", "PodDisruptionBudget", "DoNotSchedule", "WaitForFirstConsumer", // of Kubernetes
}

// unknown returns a part of text that is nowhere in the repository, or "" if there is none or text is no Go name.
func (c code) unknown(text string) string {
	match := goName.FindStringSubmatch(text)
	switch {
	case match == nil, match[1] != "" && !c.packages[match[1]], match[1] == "" && match[3] == "" && !inProse.MatchString(text):
		return ""
	}
	for _, part := range match[2:] {
		if part != "" && !c.names[part] && !slices.Contains(ofOthers, part) && !testName.MatchString(part) {
			return part
		}
	}
	return ""
}

// The commands, tests and Go names in documents exist. Pages about moving from other libraries are
// full of names of these libraries, so in those pages only names with our package are checked.
func TestNamesInDocumentsExist(t *testing.T) {
	c := readCode(t)
	var tests []string
	for _, functions := range c.tests {
		tests = slices.AppendSeq(tests, maps.Keys(functions))
	}
	isTest := func(name string) bool {
		return slices.ContainsFunc(tests, func(test string) bool { return strings.HasPrefix(test, name) })
	}
	commands, names := 0, 0
	for _, page := range all(t) {
		for _, command := range page.Commands() {
			commands++
			if err := c.check(t, command); err != nil {
				t.Errorf("%s: %s: %v", command.Where, strings.Join(command.Words, " "), err)
			}
		}
		for _, name := range testName.FindAllString(page.Unfenced(), -1) {
			if names++; !isTest(name) {
				t.Errorf("%s: no test is called %s", page.Path, name)
			}
		}
		migration := strings.HasPrefix(page.Path, "docs/migrate/")
		for _, span := range page.Spans() {
			if !migration || strings.HasPrefix(span.Text, "redlock.") {
				if part := c.unknown(span.Text); part != "" {
					t.Errorf("%s:%d: nothing is called %s", page.Path, span.Line, part)
				}
			}
		}
		if migration || page.Path == "docs/TRAPS.md" {
			continue
		}
		for _, name := range inProse.FindAllString(page.Prose(), -1) {
			names++
			if part := c.unknown(name); part != "" {
				t.Errorf("%s: nothing is called %s", page.Path, part)
			}
		}
	}
	if commands < 100 || names < 100 {
		t.Errorf("%d commands and %d names were found", commands, names)
	}
	for _, row := range trapRow.FindAllStringSubmatch(read(t, "TRAPS.md"), -1) {
		for _, name := range camelCase.FindAllString(testPath.ReplaceAllString(row[1], ""), -1) {
			if !c.texts[name] {
				t.Errorf("TRAPS.md: no case is called %s", name)
			}
		}
	}
}
