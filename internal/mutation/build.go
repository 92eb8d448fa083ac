package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redlock-go/redlock/internal/edits"
)

const module = "github.com/redlock-go/redlock"

// changed are the files of an area with their mutants, as an overlay for the go command.
type changed struct {
	mutants []mutant
	invalid map[int]bool      // those that do not compile
	overlay string            // its file
	written map[string]string // the changed text of each file, by the name of the file in the overlay
}

// change writes the files of an area anew, without the mutants that are known to be invalid.
func change(root, scratch string, patterns []string, invalid map[int]bool) (*changed, error) {
	c := &changed{invalid: invalid, written: make(map[string]string)}
	overlay := edits.NewOverlay(root, scratch)
	put := func(path string, text []byte) error {
		name, err := overlay.Put(path, text)
		c.written[name] = string(text)
		return err
	}
	files, err := expand(root, patterns)
	if err != nil {
		return nil, err
	}
	var ofScripts []edit
	for _, path := range files {
		if filepath.Ext(path) != ".lua" {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		found, at := luaEdits(path, source)
		for i, e := range found {
			e.id = len(c.mutants) + 1
			ofScripts = append(ofScripts, e)
			c.mutants = append(c.mutants, mutant{e.id, at[i], e.text + " to " + e.to})
		}
	}
	if ofScripts != nil {
		if err := put("scripts/scripts.go", luaSource(ofScripts)); err != nil {
			return nil, err
		}
	}
	for _, folder := range folders(files, ".go") {
		p, err := load(root, folder)
		if err != nil {
			return nil, err
		}
		for i, path := range p.paths {
			if !slices.Contains(files, path) {
				continue
			}
			w := &rewriter{fset: p.fset, info: p.info, pkg: p.types, source: p.sources[i]}
			w.next = func(at token.Pos, from, to token.Token) (int, bool) {
				position := p.fset.Position(at)
				position.Filename = path
				id := len(c.mutants) + 1
				c.mutants = append(c.mutants, mutant{id, position, from.String() + " to " + to.String()})
				return id, !invalid[id]
			}
			if err := put(path, w.rewrite(p.files[i])); err != nil {
				return nil, err
			}
		}
	}
	if err := put("internal/mutation/mutant/mutant.go", []byte(mutantSource)); err != nil {
		return nil, err
	}
	c.overlay, err = overlay.Write()
	return c, err
}

// expand returns the files that the patterns stand for, without tests.
func expand(root string, patterns []string) (files []string, err error) {
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("there is no file %s", pattern)
		}
		for _, path := range found {
			path, err := filepath.Rel(root, path)
			if err != nil {
				return nil, err
			}
			if !strings.HasSuffix(path, "_test.go") {
				files = append(files, path)
			}
		}
	}
	return files, nil
}

// folders returns those of the files that end so.
func folders(files []string, ext string) []string {
	var folders []string
	for _, path := range files {
		if filepath.Ext(path) == ext {
			folders = append(folders, filepath.Dir(path))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// loaded is a package with its types.
type loaded struct {
	fset    *token.FileSet
	paths   []string // from the root of the module
	sources [][]byte
	files   []*ast.File
	info    *types.Info
	types   *types.Package
}

func load(root, folder string) (*loaded, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles,DepOnly", "./"+folder)
	list.Dir = root
	list.Stderr = os.Stderr
	text, err := list.Output()
	if err != nil {
		return nil, err
	}
	exports := make(map[string]string)
	p := &loaded{fset: token.NewFileSet(), info: &types.Info{Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object), Defs: make(map[*ast.Ident]types.Object)}}
	path := ""
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var found struct {
			ImportPath, Export string
			GoFiles            []string
			DepOnly            bool
		}
		if err := d.Decode(&found); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[found.ImportPath] = found.Export
		if found.DepOnly {
			continue
		}
		path = found.ImportPath
		for _, name := range found.GoFiles {
			p.paths = append(p.paths, filepath.Join(folder, name))
		}
	}
	for _, path := range p.paths {
		source, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(p.fset, path, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.sources, p.files = append(p.sources, source), append(p.files, file)
	}
	conf := types.Config{Importer: importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	p.types, err = conf.Check(path, p.fset, p.files, p.info)
	return p, err
}

// build builds the test binaries of the judges. Mutants that do not compile are left out, and
// noted.
func build(root, scratch string, a area) (*changed, []string, error) {
	for invalid := make(map[int]bool); ; {
		c, err := change(root, scratch, a.files, invalid)
		if err != nil {
			return nil, nil, err
		}
		binaries, output, err := compile(root, scratch, c, a.judges)
		if err == nil {
			return c, binaries, nil
		}
		found := c.blamed(output)
		if len(found) == 0 {
			return nil, nil, fmt.Errorf("%w\n%s", err, output)
		}
		for _, id := range found {
			invalid[id] = true
		}
	}
}

func compile(root, scratch string, c *changed, judges []judge) (binaries []string, output string, err error) {
	for i, j := range judges {
		binary := filepath.Join(scratch, "judge"+strconv.Itoa(i))
		build := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", c.overlay, "-o", binary, "./"+j.folder)
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			return nil, string(out), err
		}
		binaries = append(binaries, binary)
	}
	return binaries, "", nil
}

var (
	compileError = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`)
	switched     = regexp.MustCompile(`mutant__\.O[fn]\((\d+)`)
)

// blamed returns the mutants in the lines that the compiler complains of.
func (c *changed) blamed(output string) (ids []int) {
	for _, found := range compileError.FindAllStringSubmatch(output, -1) {
		line, err := strconv.Atoi(found[2])
		lines := strings.Split(c.written[filepath.Base(found[1])], "\n")
		if err != nil || line > len(lines) {
			continue
		}
		for _, m := range switched.FindAllStringSubmatch(lines[line-1], -1) {
			id, _ := strconv.Atoi(m[1])
			ids = append(ids, id)
		}
	}
	return ids
}
